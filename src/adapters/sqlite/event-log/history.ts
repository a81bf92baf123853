// The log's own history: an id for good, and each time it was opened to be written with where it ended then. It says what offsets alone can't: a log
// that was put back from a backup goes on, with other events at the offsets that it had once before.
//
//   opening 1 (ends at 0) ── events ──> opening 2 (ends at 120) ── events ──> opening 3 (ends at 300), this one
//
// What was folded since opening 1 and before opening 2 reaches up to 120 at most. Who has more of it has followed events that this log doesn't hold.

import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

import type { Topic } from '../../../domain/topics.ts';
import type { LogIdentity } from '../../../ports/event-log.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';

/** By topic and partition number: the offset of the next event. Absent: 0. */
export type Reach = ReadonlyMap<Topic, readonly number[]>;

export interface LogHistory extends LogIdentity {
  /** This opening of it, and how far the log went at it. */
  readonly opening: string;
  readonly reach: Reach;
  /** How far the log went until the opening after the given one (null: the first that was ever noted); null when the log knows nothing of it. */
  reachOf(opening: string | null): Reach | null;
}

export const historyTable = `
  CREATE TABLE IF NOT EXISTS openings (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, ends TEXT NOT NULL);`;

/** 1,000 of 2 KiB at most. Whoever follows an earlier one is folded anew. */
const openingsMax = 1000;

/** Notes this opening, before anything is appended. @throws Error when that can't be written */
export function openHistory(db: DatabaseSync, of: { catalog: Catalog; ends: Ends }): LogHistory {
  const { catalog, ends } = of;
  const opening = randomUUID();
  const reach = reachNow(catalog, ends);
  const id = inTransaction(db, () => {
    insertMeta(db, 'id', randomUUID());
    const add = db.prepare('INSERT INTO openings (id, ends) VALUES (?, ?) RETURNING number');
    const number = Number(add.get(opening, JSON.stringify(Object.fromEntries(reach)))?.['number']);
    db.prepare('DELETE FROM openings WHERE number <= ?').run(number - openingsMax);
    return String(metaOf(db, 'id'));
  });
  const numberOf = db.prepare('SELECT number FROM openings WHERE id = ?');
  const endsOf = db.prepare('SELECT ends FROM openings WHERE number = ?');
  return {
    id,
    opening,
    reach,
    hasSettings: metaOf(db, 'settings') !== undefined,
    noteSettings: async () => insertMeta(db, 'settings', 'tied'),
    reachOf(earlier) {
      const number = earlier === null ? 0 : numberOf.get(earlier)?.['number'];
      const next = number === undefined ? undefined : endsOf.get(Number(number) + 1);
      if (next === undefined) return null;
      return new Map(Object.entries(JSON.parse(String(next['ends'])) as Record<Topic, number[]>));
    },
  };
}

function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Topics without an event are left out. */
function reachNow({ topics, partitioning, slotOf }: Catalog, ends: Ends): Reach {
  const numbers = Array.from({ length: partitioning.partitions }, (_, partition) => partition);
  const byTopic = topics.map(
    (topic) => [topic, numbers.map((partition) => ends.get(slotOf(topic, partition)))] as const,
  );
  return new Map(byTopic.filter(([, all]) => all.some((end) => end > 0)));
}

function metaOf(db: DatabaseSync, key: string): unknown {
  return db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'];
}

function insertMeta(db: DatabaseSync, key: string, value: string): void {
  db.prepare('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(key, value);
}
