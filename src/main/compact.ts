// herald compact: the log and the read models are written anew without what is free in them, and give back from then on what becomes free.

import { compact } from '../adapters/sqlite/compact.ts';
import type { Config } from './config.ts';
import { isCluster } from './config.ts';
import { isThere, logThereIn, openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';
import { lockOrExplain } from './lock.ts';
import { StartError } from './start-error.ts';

/** @throws StartError while the service runs, or where there are no such files */
export async function compactFiles(config: Config): Promise<void> {
  if (isCluster(config))
    throw new StartError('compact is for DATA_DIR: Kafka and MongoDB give space back by themselves.');
  const log = logThereIn(config);
  const lock = await lockOrExplain(config);
  try {
    const { views } = dataFiles(config.DATA_DIR);
    for (const [path, kind] of [
      [log, 'log'],
      [views, 'views'],
    ] as const) {
      if (!isThere(path)) continue;
      const { before, after } = await openOrExplain(path, kind, () => compact(path));
      process.stdout.write(`${path}: ${mib(before)} MiB before, ${mib(after)} MiB now.\n`);
    }
  } finally {
    lock.release();
  }
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
