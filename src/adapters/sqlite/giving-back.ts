// Gives back to the disk what is free in a file, a few pages at a time: whoever writes the file in this thread waits for them.
//
//   trimmed rows ──> free pages ──(new rows take them)──> the rest, beyond a tenth of the file: incremental vacuum, a step every 50 ms

import type { DatabaseSync } from 'node:sqlite';

import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';

export interface GivingBack {
  close(): void;
}

export interface GivingBackOf {
  readonly db: DatabaseSync;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** As the metric names it. */
  readonly file: string;
  /** Whether checkpoints of this connection cut the file off, and no other thread's; absent: it doesn't matter to its writer. */
  readonly cutsFile?: () => boolean;
}

const lookEveryMs = 1000;
/** Between steps: what the thread is for comes first. */
const restMs = 50;
/** Aimed at for a step, well under the 20 ms that a writer may wait. */
const stepMs = 4;
/** 64 KiB at first; 32 KiB a step at least, which take under a ms, and 1 MiB at most. */
const firstPages = 16;
const pagesMin = 8;
const pagesMax = 256;
/**
 * 4 MiB: the file itself is cut off by a checkpoint, which comes after so many pages that were written, and giving back writes hardly any. 210 MB that had
 * come together held the thread for 33 ms of the system's time; so many hold it for less than one.
 */
const cutPages = 1024;
/** What is left free for the rows to come: 1 MiB, or a tenth of the file. */
const slackPagesMin = 256;
const slackShare = 10;

/** A file that was made without it (`auto_vacuum`) is left as it is: its free pages are used again. */
export function startGivingBack({
  db,
  clock,
  logger,
  metrics,
  file,
  cutsFile = () => false,
}: GivingBackOf): GivingBack {
  const value = (pragma: string): number => Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0);
  metrics?.increment('herald_given_back_bytes_total', { file }, 0);
  if (value('auto_vacuum') !== incremental) return { close: () => undefined };
  const pageBytes = value('page_size');
  let pages = firstPages;
  /** Given back since the file was cut off. */
  let uncut = 0;
  let timer: NodeJS.Timeout;

  const isWorthIt = (): boolean => {
    const free = value('freelist_count');
    return free > slackPagesMin && free > value('page_count') / slackShare;
  };

  /** Answers when to look again. */
  const step = (): number => {
    if (db.isTransaction) return lookEveryMs;
    if (uncut >= cutPages && cutsFile()) {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      uncut = 0;
      return restMs;
    }
    if (!isWorthIt()) return lookEveryMs;
    const before = value('freelist_count');
    const begunAt = clock.monotonic();
    db.exec(`PRAGMA incremental_vacuum(${pages})`);
    const tookMs = clock.monotonic() - begunAt;
    const given = before - value('freelist_count');
    uncut += given;
    metrics?.increment('herald_given_back_bytes_total', { file }, given * pageBytes);
    pages = Math.min(pagesMax, Math.max(pagesMin, Math.floor(tookMs > stepMs ? pages / 2 : pages + pages / 4)));
    return restMs;
  };

  const look = (): void => {
    let waitMs = lookEveryMs;
    try {
      waitMs = step();
    } catch (err) {
      logger.warn('free space of a file could not be given back', { file, err });
    }
    wait(waitMs);
  };
  const wait = (ms: number): void => {
    timer = setTimeout(look, ms).unref();
  };
  wait(lookEveryMs);
  return { close: () => clearTimeout(timer) };
}

/** Of PRAGMA auto_vacuum. */
const incremental = 2;
