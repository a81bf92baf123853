// How full the disk of the embedded engines is.

import { statfsSync, statSync } from 'node:fs';

import type { Metrics } from '../ports/metrics.ts';
import { dataFiles } from './data-files.ts';

/** Asked when the metrics are read: two calls of some µs each on a local disk. */
export function measureDisk(metrics: Pick<Metrics, 'gauge'>, dataDir: string): void {
  const { log } = dataFiles(dataDir);
  metrics.gauge('herald_disk_free_bytes', () => readable(() => freeBytes(dataDir)));
  metrics.gauge('herald_log_bytes', () => readable(() => sizeOf(log) + sizeOf(`${log}-wal`)));
}

/** To whoever isn't root: what SQLite may still write. */
function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** A disk that is gone is no reason to show no metrics at all. */
function readable(bytes: () => number): number {
  try {
    return bytes();
  } catch {
    return Number.NaN;
  }
}
