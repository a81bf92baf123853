// Takes the data folder, or says in a sentence who holds it.

import type { DataDirLock } from '../adapters/node/data-dir.ts';
import { DataDirLockedError, lockDataDir } from '../adapters/node/data-dir.ts';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

/** @throws StartError naming the holder's pid */
export function lockOrExplain(config: Config): DataDirLock {
  try {
    return lockDataDir(config.DATA_DIR);
  } catch (error) {
    throw error instanceof DataDirLockedError ? new StartError(`DATA_DIR: ${error.message}`) : error;
  }
}
