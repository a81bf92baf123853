// The data folder of one Herald in an end-to-end test; on real engines also its own prefix and database, which all its processes share.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { engineSet } from './engine-set.ts';

export type Environment = Readonly<Record<string, string>>;

export interface DataDir {
  readonly path: string;
  /** For every process and command on it: DATA_DIR and where the engines are. */
  readonly environment: Environment;
  /** While no process runs: as if they had never been. The log and the settings stay. */
  dropReadModels(): Promise<void>;
  remove(): Promise<void>;
}

/** @param engines which engines its processes run on; default: those that this run of the suite is about */
export async function makeDataDir(engines: 'embedded' | 'real' = engineSet): Promise<DataDir> {
  const path = await mkdtemp(join(tmpdir(), 'herald-e2e-'));
  const removeFolder = () => rm(path, { recursive: true, force: true });
  if (engines === 'embedded') {
    return {
      path,
      environment: { DATA_DIR: path },
      async dropReadModels() {
        for (const name of await readdir(path)) if (name.startsWith('views.db')) await rm(join(path, name));
      },
      remove: removeFolder,
    };
  }
  const { makeShare } = await import('./engines-share.ts');
  const share = makeShare();
  return {
    path,
    environment: { DATA_DIR: path, ...share.environment },
    dropReadModels: share.dropReadModels,
    async remove() {
      await share.remove();
      await removeFolder();
    },
  };
}
