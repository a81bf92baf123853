// Looks into a collection, in turns: each reads for a few ms, lets everybody else on the thread have theirs, and goes on by the key of the last row.
//
// Rows are seen as of their look. A page that takes several may show one document before a write and the next after it, as two pages would.

import type { Document, FieldValue, Only, Page, Query, RangesQuery } from '../../../ports/read-model-store.ts';
import { rowsPerPageMax, skippedOf, TooManyBytesError } from '../../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../../ports/thread-turns.ts';
import type { Cell, Connection } from '../connection.ts';
import { bytesAtMost, documentOfRow, textOfRow } from './packing.ts';
import { boundarySql, findSql } from './queries.ts';
import { type Table, wantedColumns } from './tables.ts';

export interface Looking {
  /** Throws when the store is away. */
  connect(): Connection;
  readonly turns: ThreadTurns;
}

/** Rows of a filtered page that are looked at in one piece: each stands on a page of the file of its own, 5 to 10 us when it is in memory. */
const rowsPerPiece = 128;
/** Rows that are passed over in one piece: their keys stand side by side in the index, a tenth of a µs each. */
const skippedPerPiece = 2500;

type Found<D extends Document> = D & { readonly id: string };

/** All ids in one statement: each statement outside a transaction takes and leaves a file lock, which costs ten times what the seek does. */
export async function documentsById<D extends Document>(
  { connect, turns }: Looking,
  table: Table,
  ids: readonly string[],
  only: Only,
): Promise<Map<string, D>> {
  const found: FoundById<D> = { documents: new Map(), fill: createFill(table, only, ids.length) };
  // CROSS JOIN keeps SQLite from scanning the table for the ids.
  const wanted = wantedColumns(table, only.fields).map((column) => `stored.${column}`);
  const text = `SELECT ${[...wanted, 'asked.key', 'stored.id'].join(', ')} FROM json_each(?) AS asked
    CROSS JOIN ${table.name} AS stored ON stored.id = asked.value`;
  let left = ids;
  while (left.length > 0) {
    if (turns.isOver()) await turns.next();
    const asked = left;
    left = turns.piece(() => {
      const rows = connect().eachRow(text, [JSON.stringify(asked)]);
      const last = takeRows(found, table, only, rows, turns);
      return last === null ? [] : asked.slice(last + 1);
    });
  }
  return found.documents;
}

interface FoundById<D extends Document> {
  readonly documents: Map<string, D>;
  readonly fill: Fill;
}

/** As long as the turn lasts: which of those that were asked for was the last, null when there is none behind it. @throws TooManyBytesError */
function takeRows<D extends Document>(
  { documents, fill }: FoundById<D>,
  table: Table,
  only: Only,
  rows: Iterable<readonly Cell[]>,
  turns: ThreadTurns,
): number | null {
  for (const row of rows) {
    if (!takes(fill, row)) {
      if (only.orRefuse === true) throw new TooManyBytesError(table.collection, only.bytesMax ?? 0);
      return null;
    }
    documents.set(String(row.at(-1)), documentOf(table, row, only.fields) as D);
    if (turns.isOver()) return Number(row.at(-2));
  }
  return null;
}

export async function findPage<D extends Document>(looking: Looking, table: Table, query: Query): Promise<Page<D>> {
  const limit = Math.min(query.limit, rowsPerPageMax);
  if (!(limit >= 1)) throw new RangeError('a page has at least one row');
  const isFiltered = query.filter !== undefined && Object.keys(query.filter).length > 0;
  const rest = await behindSkipped(looking, table, query);
  if (rest === null) return { documents: [], next: null };
  return isFiltered ? filteredPage(looking, table, rest, limit) : wholePage(looking, table, rest, limit);
}

/** One range after another: here a question costs what it finds. */
export async function findRanges<D extends Document>(
  looking: Looking,
  table: Table,
  { ranges, ...query }: RangesQuery,
): Promise<Found<D>[] | null> {
  const found: Found<D>[] = [];
  for (const { equals, range } of ranges) {
    const order = { fields: [range.field], direction: 'ascending' } as const;
    const page = await findPage<D>(looking, table, { ...query, equals, range, order, limit: rowsPerPageMax });
    found.push(...page.documents);
    if (page.next !== null || found.length > rowsPerPageMax) return null;
  }
  return found;
}

/** The query from the last row on that it passes over; null when there is none behind that. */
async function behindSkipped({ connect, turns }: Looking, table: Table, query: Query): Promise<Query | null> {
  let rest = query;
  for (let left = skippedOf(query); left > 0; left -= skippedPerPiece) {
    if (turns.isOver()) await turns.next();
    const rows = Math.min(left, skippedPerPiece);
    const asked = rest;
    const last = turns.piece(() => boundaryKey(connect(), table, asked, rows));
    if (last === null) return null;
    rest = from(rest, last);
  }
  return rest;
}

/** Every row that the index gives is on the page. */
async function wholePage<D extends Document>(
  { connect, turns }: Looking,
  table: Table,
  query: Query,
  limit: number,
): Promise<Page<D>> {
  const documents: Found<D>[] = [];
  const fill = createFill(table, query, limit);
  let last: FieldValue[] | null = null;
  for (;;) {
    if (turns.isOver()) await turns.next();
    const rest = from(query, last);
    const came = turns.piece(() => {
      const { text, values } = findSql(table, rest, limit - documents.length);
      for (const row of connect().eachRow(text, values)) {
        if (!takes(fill, row)) return 'full';
        documents.push(foundOf<D>(table, row, query));
        last = keyOf(row, query);
        if (turns.isOver()) return 'so far';
      }
      return 'to the end';
    });
    if (came !== 'so far') return { documents, next: came === 'full' ? last : null };
  }
}

/** A piece of rows after another, until the page is full or as many were looked at as a page may. */
async function filteredPage<D extends Document>(
  { connect, turns }: Looking,
  table: Table,
  query: Query,
  limit: number,
): Promise<Page<D>> {
  const documents: Found<D>[] = [];
  const fill = createFill(table, query, limit);
  let shown: FieldValue[] | null = null;
  let seen: FieldValue[] | null = null;
  for (let looked = 0; looked < rowsPerPageMax; looked += rowsPerPiece) {
    if (turns.isOver()) await turns.next();
    const rows = Math.min(rowsPerPiece, rowsPerPageMax - looked);
    const connection = connect();
    const rest = from(query, seen);
    const look = (): boolean => {
      const { text, values } = findSql(table, rest, limit - documents.length, rows);
      for (const row of connection.eachRow(text, values)) {
        if (!takes(fill, row)) return true;
        documents.push(foundOf<D>(table, row, query));
        shown = keyOf(row, query);
      }
      seen = boundaryKey(connection, table, rest, rows);
      return false;
    };
    const isFull = turns.piece(() => snapshot(connection, look));
    if (isFull) return { documents, next: shown };
    if (seen === null) break;
  }
  return { documents, next: seen };
}

/** What is on a page so far, and how much may be. */
interface Fill {
  readonly packing: Table['packing'];
  readonly limit: number;
  /** null: whatever the rows bring. */
  readonly bytesMax: number | null;
  count: number;
  /** Of the rows so far; those of `unmeasured` come on top, with `unmeasuredMost` together at most. */
  bytes: number;
  unmeasured: (readonly Cell[])[];
  unmeasuredMost: number;
}

function createFill({ packing }: Table, { fields, bytesMax = Infinity }: Only, limit: number): Fill {
  const isBounded = fields === undefined && bytesMax < Infinity;
  const none = { count: 0, bytes: 0, unmeasured: [], unmeasuredMost: 0 };
  return { packing, limit, bytesMax: isBounded ? bytesMax : null, ...none };
}

/** Counts the row in; false when it is one too many, or brings more bytes than it may. */
function takes(fill: Fill, row: readonly Cell[]): boolean {
  if (fill.count === fill.limit) return false;
  if (fill.bytesMax !== null && !fits(fill, fill.bytesMax, row) && fill.count > 0) return false;
  fill.count++;
  return true;
}

/** A row's text is made only where it may decide: it costs as much as the document. */
function fits(fill: Fill, bytesMax: number, row: readonly Cell[]): boolean {
  const { packing, unmeasured } = fill;
  const most = bytesAtMost(packing, row);
  unmeasured.push(row);
  if (fill.bytes + fill.unmeasuredMost + most <= bytesMax) {
    fill.unmeasuredMost += most;
    return true;
  }
  for (const one of unmeasured) fill.bytes += Buffer.byteLength(textOfRow(packing, String(one.at(-1)), one));
  fill.unmeasured = [];
  fill.unmeasuredMost = 0;
  return fill.bytes <= bytesMax;
}

function from(query: Query, after: readonly FieldValue[] | null): Query {
  return after === null ? query : { ...query, after };
}

function keyOf(row: readonly Cell[], { order }: Query): FieldValue[] {
  return row.slice(-(order.fields.length + 1));
}

function foundOf<D extends Document>(table: Table, row: readonly Cell[], { fields }: Query): Found<D> {
  const document = documentOf(table, row, fields);
  document['id'] = row.at(-1);
  return document as Found<D>;
}

/** The first cells of a row; the last is its id. */
function documentOf(
  table: Table,
  row: readonly Cell[],
  fields: readonly string[] | undefined,
): Record<string, unknown> {
  if (fields === undefined) return documentOfRow(table.packing, String(row.at(-1)), row) as Record<string, unknown>;
  return Object.fromEntries(fields.map((field, i) => [field, row[i] ?? null]));
}

/** The key of the last of so many rows; null when there are no more than that. */
function boundaryKey(connection: Connection, table: Table, query: Query, rowsMax: number): FieldValue[] | null {
  const { text, values } = boundarySql(table, query, rowsMax);
  const [last, further] = connection.rows(text, values);
  return last === undefined || further === undefined ? null : last;
}

/** Two statements that see the same rows. */
function snapshot<T>(connection: Connection, read: () => T): T {
  if (connection.db.isTransaction) return read();
  connection.db.exec('BEGIN');
  try {
    return read();
  } finally {
    connection.db.exec('COMMIT');
  }
}
