// Copies what the log's write-ahead file holds into log.db, in a thread that answers nobody. The writer, which would do it within a COMMIT once 1,000 pages
// are there (4 MiB written and two fsyncs, in which its event loop stands for 4 to 10 ms), then doesn't.
//
// Never waited for: what a reader still needs stays for the next time. While nobody does it here, or it fails, the writer does it by itself again.

import type { Clock } from '../../../ports/clock.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Metrics } from '../../../ports/metrics.ts';
import { openDatabase } from '../sqlite.ts';

export interface Checkpoints {
  close(): void;
}

export interface CheckpointsOf {
  /** Of log.db. */
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

/** Pages of 4 KiB after which the writer does it: alone, and while another thread does. 32 MiB are two seconds of the most that is ever written. */
export const writersCheckpointPages = { alone: 1000, beside: 8000 } as const;

/** 500 events a second write some 300 pages in it. Where there is nothing to do it costs 20 us. */
const everyMs = 250;
const warnEveryMs = 60_000;

/** @throws Error when the file can't be opened */
export function startCheckpoints({ path, clock, logger, metrics }: CheckpointsOf): Checkpoints {
  const db = openDatabase(path, { checkpointPages: 0 });
  const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let left = 0;
  let warnedAt = -Infinity;
  metrics?.gauge('herald_log_wal_pages', () => left);

  const copy = (): void => {
    try {
      const { log, checkpointed } = passive.get() ?? {};
      left = Math.max(0, Number(log) - Number(checkpointed));
    } catch (err) {
      if (clock.monotonic() - warnedAt < warnEveryMs) return;
      warnedAt = clock.monotonic();
      logger.warn('the write-ahead file of the log could not be copied into it here: its writer does it', { err });
    }
  };
  const timer = setInterval(copy, everyMs).unref();
  return {
    close() {
      clearInterval(timer);
      db.close();
    },
  };
}
