// Reads rows of the log through one connection and makes entries of them.

import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { deadEntry, entryOf } from '../../../codec/entry.ts';
import { tenantIdInSql } from '../../../codec/head.ts';
import { type Codec, type EventSchema, UnknownSchemaError } from '../../../codec/index.ts';
import type { DomainEvent, EventType } from '../../../domain/events.ts';
import type { Topic } from '../../../domain/topics.ts';
import type { CommittedPosition, LogEntry } from '../../../ports/event-log.ts';
import type { Catalog } from './catalog.ts';
import { isWhole } from './checksum.ts';

/**
 * A row as it is stored. Large bytes stay in the file until the entry is wanted, and so does their checksum, which stands behind them: null. Of what is known
 * already the entry alone counts.
 */
export type Row = readonly [
  offset: number,
  appendedAt: number,
  type: number,
  schema: number,
  bytes: Uint8Array | null,
  checksum: number | null,
  known?: LogEntry,
];

type StoredContent = readonly [bytes: Uint8Array, checksum: number | null];

const damagedReason = 'its checksum does not fit: the bytes are not the ones that were appended';

/** Longer ones aren't held by a page: a page of any events takes no more than one of small ones, and an entry some 5 us more. */
export const pagedBytesMax = 2048;

/** Rows [from, to) of a slot, ascending, at most `limit`. */
export type Page = (slot: number, from: number, to: number, limit: number) => readonly Row[];

/** All rows [from, to) of a slot that are of some tenants. @param tenants a list in JSON; null: those rows of which only reading them tells whose they are */
export type PageOfTenants = (
  slot: number,
  range: readonly [from: number, to: number],
  tenants: string | null,
) => readonly Row[];

/** What each has of the rows [from, to) of a slot; null: those of whom only reading all of a row tells whose it is. */
export type Counts = (slot: number, from: number, to: number) => readonly TenantCount[];
export type TenantCount = readonly [tenantId: string | null, events: number, bytes: number, last: number];

export interface Rows {
  /** A page of all rows, or of those of some types alone. */
  page(types?: ReadonlySet<EventType>): Page;
  counts(types?: ReadonlySet<EventType>): Counts;
  pageOfTenants(types?: ReadonlySet<EventType>): PageOfTenants;
  /** @throws UnknownSchemaError when neither the codec nor the log's own table knows its schema */
  entry(slot: number, row: Row): LogEntry;
  /** @throws UndecodableError @throws UnknownSchemaError */
  decode(schema: number, bytes: Buffer): DomainEvent;
  /** The least offset in [0, end) that was appended at or after `timeMs`; `end` when there is none. */
  offsetAt(slot: number, end: number, timeMs: number): number;
  /** The offset of the first event that is there; null without one. */
  start(slot: number): number | null;
  committed(group: string, slot: number): CommittedPosition | null;
}

export function createRows({ db, catalog, codec }: { db: DatabaseSync; catalog: Catalog; codec: Codec }): Rows {
  const { topics, partitioning } = catalog;
  const { partitions } = partitioning;
  const schemaOf = createSchemas(db, codec);
  const firstAfter = arrays(
    db,
    'SELECT "offset", appended_at FROM events WHERE topic = ? AND "partition" = ? AND "offset" >= ? ORDER BY "offset" LIMIT 1',
  );
  const position = db.prepare(
    'SELECT "offset", metadata FROM commits WHERE consumer_group = ? AND "partition" = ? AND topic = ?',
  );
  const storedAt = arrays(
    db,
    'SELECT bytes, checksum FROM events WHERE topic = ? AND "partition" = ? AND "offset" = ?',
  );
  const topicId = (slot: number) => Math.floor(slot / partitions);
  const contentAt = (slot: number, offset: number): StoredContent => {
    const stored = storedAt.get(topicId(slot), slot % partitions, offset);
    if (stored === undefined) throw new Error(`offset ${offset} is gone from the log`);
    return stored as unknown as StoredContent;
  };

  const inRange = 'FROM events WHERE topic = ? AND "partition" = ? AND "offset" >= ? AND "offset" < ?';
  const row = `"offset", appended_at, type, schema, ${ifPaged('bytes')}, ${ifPaged('checksum')}`;
  const ofTypes = (types?: ReadonlySet<EventType>) =>
    types === undefined ? '' : `AND type IN (${typeIds(db, types).join(', ')})`;
  const tenantId = ifPaged(tenantIdInSql('bytes'));

  const pageWhere = (condition: string): Page => {
    const sql = `${inRange} ${condition} ORDER BY "offset" LIMIT ?`;
    const manyOf = columnsOf(db, `SELECT * ${sql}`);
    const few = arrays(db, `SELECT ${row} ${sql}`);
    return (slot, from, to, limit) => {
      const place = [topicId(slot), slot % partitions, from, to, limit] as const;
      return Math.min(to - from, limit) < manyRows ? (few.all(...place) as unknown as Row[]) : manyOf(...place);
    };
  };
  // Prepared once: a range is read for every pass over what tenants left in the log.
  const pageOfAll = pageWhere('');

  return {
    page: (types) => (types === undefined ? pageOfAll : pageWhere(ofTypes(types))),

    counts(types) {
      const sums = 'count(*), sum(length(bytes)), max("offset")';
      const statement = arrays(db, `SELECT ${tenantId}, ${sums} ${inRange} ${ofTypes(types)} GROUP BY 1`);
      return (slot, from, to) =>
        statement.all(topicId(slot), slot % partitions, from, to) as unknown as readonly TenantCount[];
    },

    pageOfTenants(types) {
      const rowsWhere = (condition: string) =>
        columnsOf(db, `SELECT * ${inRange} ${ofTypes(types)} AND ${condition} ORDER BY "offset" LIMIT -1`);
      const ofThese = rowsWhere(`${tenantId} IN (SELECT value FROM json_each(?))`);
      const ofUntold = rowsWhere(`${tenantId} IS NULL`);
      return (slot, [from, to], tenants) => {
        const place = [topicId(slot), slot % partitions, from, to] as const;
        return tenants === null ? ofUntold(...place) : ofThese(...place, tenants);
      };
    },

    entry(slot, [offset, appendedAt, type, schema, paged, checksum]) {
      const [stored, sum] = paged === null ? contentAt(slot, offset) : [paged, checksum];
      const bytes = ownBytes(stored);
      const place = {
        topic: topics[topicId(slot)] as Topic,
        partition: slot % partitions,
        offset,
        appendedAt,
      };
      if (!isWhole({ type, schema }, bytes, sum)) return deadEntry(place, damagedReason, bytes);
      return entryOf(codec, place, schemaOf(schema), bytes);
    },

    decode(id, bytes) {
      const { type, fingerprint } = schemaOf(id);
      return codec.decode(type, fingerprint, bytes);
    },

    offsetAt(slot, end, timeMs) {
      let low = 0;
      let high = end;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        const [offset = end, appendedAt = 0] = first(firstAfter.all(topicId(slot), slot % partitions, middle));
        // Between `middle` and `high` there is only a gap, or it is late enough: the answer is at `middle` or before it, gaps not counted.
        if (offset >= high || appendedAt >= timeMs) high = middle;
        else low = offset + 1;
      }
      const [offset = end] = first(firstAfter.all(topicId(slot), slot % partitions, low));
      return Math.min(offset, end);
    },

    start: (slot) => first(firstAfter.all(topicId(slot), slot % partitions, 0))[0] ?? null,

    committed(group, slot) {
      const row = position.get(group, slot % partitions, topicId(slot));
      return row === undefined ? null : { offset: Number(row['offset']), metadata: String(row['metadata']) };
    },
  };
}

/** The length stands before the bytes: without them SQLite reads none of their pages, 50 of a body of 200 KiB. */
function ifPaged(column: string): string {
  return `CASE WHEN length(bytes) <= ${pagedBytesMax} THEN ${column} END`;
}

/** From so many on rows are cheaper as columns. */
const manyRows = 16;

/**
 * The rows of a query, which come as two values: their numbers as one JSON text, their bytes as one piece of memory. A value and a piece of memory for each row
 * and column take half as much again of the processor, from 48 rows on.
 * @param sql all columns of events, ascending; with a LIMIT, without which SQLite is free to order them anew
 */
function columnsOf(db: DatabaseSync, sql: string): (...parameters: readonly (number | string)[]) => readonly Row[] {
  // The null at the end makes V8 keep whole numbers as such: a list of numbers alone, of which one has more than 32 bits, is of fractions, each a piece of
  // memory for whoever takes it, and what is made of them is compiled again and again.
  const numbers = ['"offset"', 'appended_at', 'type', 'schema', ifPaged('length(bytes)'), ifPaged('checksum'), 'NULL'];
  // The cast changes no byte: what is no text is taken as it is (sqlite.org/lang_expr.html#castexpr).
  const bytes = `CAST(group_concat(${ifPaged('bytes')}, '') AS BLOB)`;
  const statement = arrays(db, `SELECT json_group_array(json_array(${numbers.join(', ')})), ${bytes} FROM (${sql})`);
  return (...parameters) => {
    const [text, all] = statement.get(...parameters) as unknown as readonly [string, Uint8Array | null];
    const rows = JSON.parse(text) as [number, number, number, number, number | Uint8Array | null, number | null][];
    let at = 0;
    for (const row of rows) {
      const length = row[4];
      if (typeof length !== 'number') continue;
      row[4] = all === null ? noBytes : all.subarray(at, at + length);
      at += length;
    }
    return rows as unknown as readonly Row[];
  };
}

const noBytes = new Uint8Array(0);

/** An event may be held long after the page that it came with. */
function ownBytes(stored: Uint8Array): Buffer {
  const isWhole = stored.byteLength === stored.buffer.byteLength;
  return isWhole ? Buffer.from(stored.buffer, 0, stored.byteLength) : Buffer.from(stored);
}

function arrays(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

function first(rows: readonly unknown[]): readonly number[] {
  return (rows[0] ?? []) as number[];
}

/** -1 stands for a type that the log has never heard of. */
function typeIds(db: DatabaseSync, types: ReadonlySet<EventType>): number[] {
  const statement = db.prepare('SELECT id FROM types WHERE name = ?');
  return [...types].map((type) => Number(statement.get(type)?.['id'] ?? -1));
}

/** By the log's own table of schemas; one met for the first time is read from there. */
function createSchemas(db: DatabaseSync, codec: Codec): (id: number) => EventSchema {
  const read = db.prepare(
    'SELECT types.name AS type, fingerprint, json FROM schemas JOIN types ON types.id = schemas.type WHERE schemas.id = ?',
  );
  const known = new Map<number, EventSchema>();

  const learn = (id: number): EventSchema => {
    const row = read.get(id);
    if (row === undefined) throw new UnknownSchemaError(`the log names schema ${id}, which it does not hold`);
    const schema = { type: String(row['type']), fingerprint: String(row['fingerprint']), json: String(row['json']) };
    codec.addSchema(schema);
    known.set(id, schema);
    return schema;
  };

  return (id) => known.get(id) ?? learn(id);
}
