// Takes events away whose retention has ended, between two flushes: some of one partition at a time, in a transaction of their own.

import type { DatabaseSync } from 'node:sqlite';

import { type Trimmed, trimEventsMax, type TrimmedRange } from '../../../ports/event-log.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';

export interface Trimmer {
  /** @throws Error when it can't be written, or when more is asked for than one call may take away */
  trim(range: TrimmedRange): Trimmed;
}

export function createTrimmer({ db, catalog, ends }: { db: DatabaseSync; catalog: Catalog; ends: Ends }): Trimmer {
  const { partitions } = catalog.partitioning;
  const remove = db.prepare(
    'DELETE FROM events WHERE topic = ? AND "partition" = ? AND "offset" >= ? AND "offset" < ?',
  );
  const noteEnd = db.prepare(
    `INSERT INTO trimmed (topic, "partition", "end") VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "end" = max("end", excluded."end")`,
  );
  return {
    trim({ topic, partition, from, to, kept }) {
      const slot = catalog.slotOf(topic, partition);
      const place = [Math.floor(slot / partitions), slot % partitions] as const;
      let events = 0;
      db.exec('BEGIN IMMEDIATE');
      try {
        noteEnd.run(...place, ends.get(slot));
        for (const [begin, end] of between(kept, from, to)) events += Number(remove.run(...place, begin, end).changes);
        if (events > trimEventsMax) throw new Error(`${events} events at once: at most ${trimEventsMax} are trimmed`);
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
      return { events };
    },
  };
}

/** What of [from, to) lies between those that are kept, ascending. */
function* between(kept: readonly number[], from: number, to: number): Generator<readonly [number, number]> {
  let begin = from;
  for (const offset of kept) {
    if (offset > begin) yield [begin, offset];
    begin = offset + 1;
  }
  if (begin < to) yield [begin, to];
}
