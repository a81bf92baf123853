// The SQLite log as the source of a copy: every row as it stands, nothing decoded. For a log that no process holds.

import { createHash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { Topic } from '../../../domain/topics.ts';
import type { EventLogCopySource, GroupPosition, RawEntry, WrittenSchema } from '../../../ports/event-log-copy.ts';
import { UnfitFileError } from '../../../ports/unfit-file.ts';
import { openDatabase } from '../sqlite.ts';
import { formatVersion, hasChecksums } from './catalog.ts';
import { isWhole } from './checksum.ts';

export interface SqliteCopySource extends EventLogCopySource {
  /** Made with the log, for good; null: no process of this version has opened it. */
  readonly id: string | null;
  close(): void;
}

/** A row of `events`. */
type Row = readonly [
  offset: number,
  appendedAt: number,
  schema: number,
  bytes: Uint8Array,
  type: number,
  checksum: number | null,
];

/** @throws Error when the file can't be opened, or was made by another version, or isn't a log */
export function openCopySource(path: string): SqliteCopySource {
  const db = openDatabase(path, { readOnly: true, holds: 'meta' });
  try {
    return sourceOn(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function sourceOn(db: DatabaseSync): SqliteCopySource {
  const partitioning = partitioningOf(db);
  const topicIds = topicIdsOf(db);
  const schemas = schemasOf(db);
  const numbers = Array.from({ length: partitioning.partitions }, (_, partition) => partition);
  const bounds = db.prepare(
    'SELECT min("offset") AS first, max("offset") AS last FROM events WHERE topic = ? AND "partition" = ?',
  );
  const counted = db.prepare(
    'SELECT count(*) AS count FROM events WHERE topic = ? AND "partition" = ? AND "offset" >= ?',
  );
  const trimmedTo = trimmedEnds(db);
  const rows = db.prepare(
    `SELECT "offset", appended_at, schema, bytes, type, ${hasChecksums(db) ? 'checksum' : 'NULL'} FROM events
     WHERE topic = ? AND "partition" = ? AND "offset" >= ? ORDER BY "offset" LIMIT ?`,
  );
  rows.setReturnArrays(true);

  const idOf = (topic: Topic): number => {
    const id = topicIds.get(topic);
    if (id === undefined) throw new Error(`the log has no topic ${topic}`);
    return id;
  };
  const entryOf = ([offset, appendedAt, schemaId, bytes, type, checksum]: Row): RawEntry => {
    const ids = { type, schema: schemaId };
    if (!isWhole(ids, bytes, checksum)) return { offset, appendedAt, schema: anySchema(schemas), bytes: undecodable };
    const schema = schemas.get(schemaId);
    if (schema === undefined) throw new Error(`the log names schema ${schemaId}, which it does not hold`);
    return { offset, appendedAt, schema, bytes };
  };

  const boundsOf = (topic: Topic, partition: number) => {
    const row = bounds.get(idOf(topic), partition);
    const trimmed = trimmedTo(idOf(topic), partition);
    const end = Math.max(Number(row?.['last'] ?? -1) + 1, trimmed);
    return { start: Number(row?.['first'] ?? end), end, trimmed };
  };
  const countFrom = (topic: Topic, partition: number, offset: number) =>
    Number(counted.get(idOf(topic), partition, offset)?.['count']);

  return {
    id: idIn(db),
    identity: identityOf(db, { topicIds, numbers, rows, trimmedTo }),
    partitioning,
    topics: [...topicIds.keys()],
    schemas: [...schemas.values()],
    ends: async (topic) =>
      numbers.map((partition) => {
        const { end, trimmed } = boundsOf(topic, partition);
        const count = countFrom(topic, partition, trimmed);
        if (count !== end - trimmed)
          throw new Error(
            `${topic}, partition ${partition} holds ${count} events from offset ${trimmed} on, below offset ${end}: some are missing, and retention has not taken them`,
          );
        return end;
      }),
    starts: async (topic) => numbers.map((partition) => boundsOf(topic, partition).start),
    async gone() {
      let gone = 0;
      for (const topic of topicIds.keys())
        for (const partition of numbers) gone += boundsOf(topic, partition).end - countFrom(topic, partition, 0);
      return gone;
    },
    async read({ topic, partition, offset, eventsMax, bytesMax }) {
      const entries: RawEntry[] = [];
      let size = 0;
      for (const row of rows.iterate(idOf(topic), partition, offset, eventsMax) as unknown as Iterable<Row>) {
        const entry = entryOf(row);
        size += entry.bytes.length;
        if (entries.length > 0 && size > bytesMax) break;
        entries.push(entry);
      }
      return entries;
    },
    positions: async () => positionsOf(db),
    close() {
      if (db.isOpen) db.close();
    },
  };
}

function idIn(db: DatabaseSync): string | null {
  const id = db.prepare("SELECT value FROM meta WHERE key = 'id'").get()?.['value'];
  return id === undefined ? null : String(id);
}

/** In the place of a damaged event: what is a dead letter here is one in the copy. Every event begins with its id, so nothing is none. */
const undecodable = new Uint8Array();

function anySchema(schemas: ReadonlyMap<number, WrittenSchema>): WrittenSchema {
  for (const schema of schemas.values()) return schema;
  throw new Error('the log holds no schema');
}

type TrimmedEnds = (topicId: number, partition: number) => number;

/** The ends that partitions had when something was taken out of them for the last time; 0: nothing ever was. */
function trimmedEnds(db: DatabaseSync): TrimmedEnds {
  const isKnown = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'trimmed'").get() !== undefined;
  if (!isKnown) return () => 0;
  const end = db.prepare('SELECT "end" FROM trimmed WHERE topic = ? AND "partition" = ?');
  return (topicId, partition) => Number(end.get(topicId, partition)?.['end'] ?? 0);
}

/** Over the last event of each partition and its offset, and where events were taken. */
function identityOf(
  db: DatabaseSync,
  of: {
    topicIds: ReadonlyMap<Topic, number>;
    numbers: readonly number[];
    rows: StatementSync;
    trimmedTo: TrimmedEnds;
  },
): string {
  const last = db.prepare('SELECT max("offset") AS last FROM events WHERE topic = ? AND "partition" = ?');
  const hash = createHash('sha256');
  for (const [topic, id] of of.topicIds) {
    for (const partition of of.numbers) {
      const trimmed = of.trimmedTo(id, partition);
      if (trimmed > 0) hash.update(`${topic} ${partition} trimmed ${trimmed} `);
      const offset = last.get(id, partition)?.['last'] ?? null;
      if (offset === null) continue;
      const [row] = of.rows.all(id, partition, offset, 1) as unknown as readonly Row[];
      if (row === undefined) continue;
      hash.update(`${topic} ${partition} ${row[0]} ${row[1]} ${row[3].length} `).update(row[3]);
    }
  }
  return hash.digest('hex');
}

function partitioningOf(db: DatabaseSync) {
  const format = metaOf(db, 'format');
  if (format !== formatVersion)
    throw new UnfitFileError(
      `is of a format that this version of Herald does not read: ${format}, not ${formatVersion}.`,
    );
  return { partitions: Number(metaOf(db, 'partitions')), shards: Number(metaOf(db, 'shards')) };
}

function metaOf(db: DatabaseSync, key: string): string {
  return String(db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value']);
}

function topicIdsOf(db: DatabaseSync): ReadonlyMap<Topic, number> {
  const rows = db.prepare('SELECT id, name FROM topics ORDER BY id').all();
  return new Map(rows.map((row) => [String(row['name']), Number(row['id'])]));
}

/** Ids ascend as schemas came to be used: a type's versions are in their order. */
function schemasOf(db: DatabaseSync): ReadonlyMap<number, WrittenSchema> {
  const rows = db
    .prepare(
      'SELECT schemas.id, types.name AS type, fingerprint, json FROM schemas JOIN types ON types.id = schemas.type ORDER BY schemas.id',
    )
    .all();
  return new Map(
    rows.map((row) => {
      const { id, type, fingerprint, json } = row;
      return [Number(id), { type: String(type), fingerprint: String(fingerprint), json: String(json) }];
    }),
  );
}

function positionsOf(db: DatabaseSync): GroupPosition[] {
  const rows = db
    .prepare(
      `SELECT consumer_group, "partition", topics.name AS topic, "offset", metadata
       FROM commits JOIN topics ON topics.id = commits.topic ORDER BY consumer_group, topic, "partition"`,
    )
    .all();
  return rows.map((row) => ({
    group: String(row['consumer_group']),
    topic: String(row['topic']),
    partition: Number(row['partition']),
    offset: Number(row['offset']),
    metadata: String(row['metadata']),
  }));
}
