// Writes erased events over what was appended: their offsets and times stay, their bytes become those of what is shown of them.

import type { DatabaseSync } from 'node:sqlite';

import type { Codec } from '../../../codec/index.ts';
import type { Position } from '../../../ports/event-log.ts';
import type { Catalog, SchemaIds } from './catalog.ts';
import { checksumOf } from './checksum.ts';
import type { Ends } from './ends.ts';
import { turn } from './reader.ts';
import type { Rows } from './rows.ts';

interface Dependencies {
  readonly db: DatabaseSync;
  readonly catalog: Catalog;
  readonly rows: Rows;
  readonly codec: Codec;
  /** Of the schema that events of a type are written with. */
  idsOf(type: string, fingerprint: string): SchemaIds;
}

/** One transaction: 32 events of the usual size are written in a ms, and one of 400 KiB in 4 ms, before whoever appends has his turn. */
const eventsMax = 32;
const bytesMax = 128 * 1024;

/** Rejects when the file can't be written: what was written by then stays. */
export function createOverwriter({ db, catalog, rows, codec, idsOf }: Dependencies) {
  const { partitions } = catalog.partitioning;
  const page = rows.page();
  const stored = db.prepare('SELECT bytes FROM events WHERE topic = ? AND "partition" = ? AND "offset" = ?');
  const update = db.prepare(
    'UPDATE events SET type = ?, schema = ?, bytes = ?, checksum = ? WHERE topic = ? AND "partition" = ? AND "offset" = ?',
  );

  /** Answers how many bytes were looked at. */
  const overwriteOne = ({ topic, partition, offset }: Position): number => {
    const slot = catalog.slotOf(topic, partition);
    const [row] = page(slot, offset, offset + 1, 1);
    if (row === undefined) return 0;
    const { event, size } = rows.entry(slot, row);
    const place = [Math.floor(slot / partitions), partition, offset] as const;
    if (event === null) {
      const ids = { type: row[2], schema: row[3] };
      // Every event begins with its id, so nothing is none: a dead letter as before.
      update.run(ids.type, ids.schema, new Uint8Array(), checksumOf(ids, new Uint8Array()), ...place);
      return size;
    }
    const { type, fingerprint, bytes } = codec.encode(event);
    const ids = idsOf(type, fingerprint);
    const before = stored.get(...place)?.['bytes'];
    if (before instanceof Uint8Array && bytes.equals(before)) return size;
    update.run(ids.type, ids.schema, bytes, checksumOf(ids, bytes), ...place);
    return size;
  };

  return inSteps(db, overwriteOne);
}

/** The same for the events of an erased tenant, of which nothing is left. */
export function createRemover({ db, catalog, ends }: Pick<Dependencies, 'db' | 'catalog'> & { readonly ends: Ends }) {
  const { partitions } = catalog.partitioning;
  const sizeOf = db.prepare(
    'SELECT length(bytes) AS bytes FROM events WHERE topic = ? AND "partition" = ? AND "offset" = ?',
  );
  const remove = db.prepare('DELETE FROM events WHERE topic = ? AND "partition" = ? AND "offset" = ?');
  // Where a partition goes on when it is empty.
  const noteEnd = db.prepare(
    `INSERT INTO trimmed (topic, "partition", "end") VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "end" = max("end", excluded."end")`,
  );
  return inSteps(db, ({ topic, partition, offset }) => {
    const slot = catalog.slotOf(topic, partition);
    const place = [Math.floor(slot / partitions), partition] as const;
    const bytes = Number(sizeOf.get(...place, offset)?.['bytes'] ?? 0);
    noteEnd.run(...place, ends.get(slot));
    remove.run(...place, offset);
    return bytes;
  });
}

/** @param changeOne answers how many bytes were looked at */
function inSteps(db: DatabaseSync, changeOne: (position: Position) => number) {
  return async (positions: readonly Position[]): Promise<void> => {
    for (let at = 0; at < positions.length;) {
      db.exec('BEGIN IMMEDIATE');
      try {
        let bytes = 0;
        for (const end = at + eventsMax; at < Math.min(end, positions.length) && bytes < bytesMax; at++)
          bytes += changeOne(positions[at] as Position);
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
      await turn();
    }
  };
}
