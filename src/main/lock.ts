// Takes the data folder, or says in a sentence who holds it, or what is wrong with it.

import { join } from 'node:path';

import type { DataDirLock } from '../adapters/node/data-dir.ts';
import { DataDirLockedError, lockDataDir, lockFile, makeDataDir } from '../adapters/node/data-dir.ts';
import type { Config } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { StartError } from './start-error.ts';

/** @throws StartError naming the holder's pid */
export async function lockOrExplain(config: Config): Promise<DataDirLock> {
  await makeOrExplain(config);
  try {
    return await openOrExplain(join(config.DATA_DIR, lockFile), 'lock', () => lockDataDir(config.DATA_DIR));
  } catch (error) {
    throw error instanceof DataDirLockedError ? new StartError(`DATA_DIR: ${error.message}`) : error;
  }
}

/** @throws StartError when it can't be made, or isn't a folder */
export function makeOrExplain({ DATA_DIR: dataDir }: Config): Promise<void> {
  return openOrExplain(dataDir, 'folder', () => makeDataDir(dataDir));
}
