// The log's tables, and the names behind their small numbers: topics, event types, schemas.
//
//   topics (id, name)                     events (topic, partition, offset | type, schema, appended_at, bytes, checksum)
//   types (id, name)                      commits (consumer_group, partition, topic | offset, metadata)
//   schemas (id, type, fingerprint, json) meta (key | value): how the log was made, and its id
//   openings (number | id, ends): see history.ts      trimmed (topic, partition | end)

import type { DatabaseSync } from 'node:sqlite';

import type { Codec, EventSchema } from '../../../codec/index.ts';
import type { Partitioning, Topic } from '../../../domain/topics.ts';
import { UnfitFileError } from '../../../ports/unfit-file.ts';
import { historyTable } from './history.ts';

export interface GroupTopics {
  readonly group: string;
  readonly topics: readonly Topic[];
}

/** What a log is made with. */
export interface LogShape {
  readonly partitioning: Partitioning;
  readonly topics: readonly Topic[];
  /** Groups get position 0 on each partition of a topic that is new. */
  readonly groups: readonly GroupTopics[];
}

export interface Catalog {
  readonly partitioning: Partitioning;
  /** Their places are their ids. */
  readonly topics: readonly Topic[];
  /** topics x partitions. */
  readonly slots: number;
  /** A (topic, partition) as one number. @throws Error for a topic or partition that the log hasn't */
  slotOf(topic: Topic, partition: number): number;
}

export interface SchemaIds {
  readonly type: number;
  readonly schema: number;
}

/** Raised with every change of the tables that an older version can't read. */
export const formatVersion = '1';

const tables = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS schemas (
    id INTEGER PRIMARY KEY, type INTEGER NOT NULL, fingerprint TEXT NOT NULL, json TEXT NOT NULL, UNIQUE (type, fingerprint));
  CREATE TABLE IF NOT EXISTS events (
    topic INTEGER NOT NULL, "partition" INTEGER NOT NULL, "offset" INTEGER NOT NULL,
    type INTEGER NOT NULL, schema INTEGER NOT NULL, appended_at INTEGER NOT NULL, bytes BLOB NOT NULL, checksum INTEGER,
    PRIMARY KEY (topic, "partition", "offset"));
  CREATE TABLE IF NOT EXISTS commits (
    consumer_group TEXT NOT NULL, "partition" INTEGER NOT NULL, topic INTEGER NOT NULL, "offset" INTEGER NOT NULL, metadata TEXT NOT NULL,
    PRIMARY KEY (consumer_group, "partition", topic));
`;

/** Of partitions whose events were trimmed: the end that they had, since the last events of one say it only as long as they are there. */
export const trimmedTable = `
  CREATE TABLE IF NOT EXISTS trimmed (
    topic INTEGER NOT NULL, "partition" INTEGER NOT NULL, "end" INTEGER NOT NULL, PRIMARY KEY (topic, "partition"));`;

/**
 * Makes what is missing and hands the codec every schema that the log was ever written with.
 * @throws Error when the log was made with another partitioning or by a later version
 */
export function prepareCatalog(db: DatabaseSync, shape: LogShape, codec: Codec): Catalog {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(tables);
    db.exec(historyTable);
    db.exec(trimmedTable);
    addChecksums(db);
    keep(db, 'format', formatVersion, 'is of a format that this version of Herald does not read');
    keepPartitioning(db, shape.partitioning);
    addTopics(db, shape);
    addSchemas(db, codec.schemas());
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
  return createCatalog(topicsOf(db), shape.partitioning);
}

export function createCatalog(topics: readonly Topic[], partitioning: Partitioning): Catalog {
  const { partitions } = partitioning;
  const ids = new Map(topics.map((topic, id) => [topic, id]));
  return {
    partitioning,
    topics,
    slots: topics.length * partitions,
    slotOf(topic, partition) {
      const id = ids.get(topic);
      if (id === undefined) throw new Error(`the log has no topic ${topic}`);
      if (!Number.isInteger(partition) || partition < 0 || partition >= partitions) {
        throw new Error(`partition ${partition} of ${topic}: partitions are 0 to ${partitions - 1}`);
      }
      return id * partitions + partition;
    },
  };
}

/** The ids of each schema, by its schemaKey. */
export function readSchemaIds(db: DatabaseSync): Map<string, SchemaIds> {
  const rows = db
    .prepare(
      'SELECT types.name, fingerprint, types.id AS type, schemas.id AS schema FROM schemas JOIN types ON types.id = schemas.type',
    )
    .all();
  return new Map(
    rows.map((row) => [
      schemaKey(String(row['name']), String(row['fingerprint'])),
      { type: Number(row['type']), schema: Number(row['schema']) },
    ]),
  );
}

export function schemaKey(type: string, fingerprint: string): string {
  return `${type} ${fingerprint}`;
}

function keep(db: DatabaseSync, key: string, value: string, complaint: string): void {
  db.prepare('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(key, value);
  const kept = db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'];
  if (kept !== value) throw new UnfitFileError(`${complaint}: it has ${key} ${String(kept)}, not ${value}.`);
}

export function hasChecksums(db: DatabaseSync): boolean {
  return db
    .prepare('PRAGMA table_info(events)')
    .all()
    .some(({ name }) => name === 'checksum');
}

/** Logs of before there were any: a change of the schema alone, no row is touched. Who knows of none (an older version) writes none. */
function addChecksums(db: DatabaseSync): void {
  if (!hasChecksums(db)) db.exec('ALTER TABLE events ADD COLUMN checksum INTEGER');
}

function keepPartitioning(db: DatabaseSync, { partitions, shards }: Partitioning): void {
  const complaint = 'was made with another partitioning, which can never change (copy it into a new log instead)';
  keep(db, 'partitions', String(partitions), complaint);
  keep(db, 'shards', String(shards), complaint);
  keep(db, 'hash', 'murmur2', complaint);
}

export function topicsOf(db: DatabaseSync): Topic[] {
  return db
    .prepare('SELECT name FROM topics ORDER BY id')
    .all()
    .map((row) => String(row['name']));
}

function addTopics(db: DatabaseSync, { topics, groups, partitioning }: LogShape): void {
  const known = topicsOf(db);
  const insert = db.prepare('INSERT INTO topics (id, name) VALUES (?, ?)');
  const position = db.prepare(
    `INSERT INTO commits (consumer_group, "partition", topic, "offset", metadata) VALUES (?, ?, ?, 0, '')`,
  );
  for (const topic of topics) {
    if (known.includes(topic)) continue;
    const id = known.push(topic) - 1;
    insert.run(id, topic);
    for (const { group } of groups.filter((of) => of.topics.includes(topic))) {
      for (let partition = 0; partition < partitioning.partitions; partition++) position.run(group, partition, id);
    }
  }
}

function addSchemas(db: DatabaseSync, schemas: readonly EventSchema[]): void {
  const addType = db.prepare('INSERT INTO types (name) VALUES (?) ON CONFLICT DO NOTHING');
  const addSchema = db.prepare(
    'INSERT INTO schemas (type, fingerprint, json) SELECT id, ?, ? FROM types WHERE name = ? ON CONFLICT DO NOTHING',
  );
  for (const { type, fingerprint, json } of schemas) {
    addType.run(type);
    addSchema.run(fingerprint, json, type);
  }
}
