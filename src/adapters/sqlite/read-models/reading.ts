// The queries of the port over a connection and a view; used by the one writer and by every reader.

import type { Topic } from '../../../domain/topics.ts';
import type {
  CountQuery,
  Document,
  FieldValue,
  Only,
  Page,
  Query,
  ReadModelReader,
} from '../../../ports/read-model-store.ts';
import { NoFittingIndexError, rowsPerPageMax, TooManyBytesError } from '../../../ports/read-model-store.ts';
import type { Cell, Connection } from '../connection.ts';
import { offsetsOf } from './positions.ts';
import type { Sql } from './queries.ts';
import { boundarySql, countSql, findSql } from './queries.ts';
import { secretOf } from './secrets.ts';
import { type Table, wantedColumns } from './tables.ts';
import type { View } from './view.ts';

export type Reading = Pick<ReadModelReader, 'get' | 'find' | 'count' | 'positions' | 'hasCaughtUp' | 'secret'>;

type Found<D extends Document> = D & { readonly id: string };

/** @param connect gives the connection, or throws when the store is away */
export function createReading(connect: () => Connection, view: View): Reading {
  return {
    async get<D extends Document>(collection: string, ids: readonly string[], only: Only = {}) {
      const connection = connect();
      return withTable(view, collection, (table) => documentsById<D>(connection, table, ids, only));
    },
    async find<D extends Document>(query: Query) {
      const connection = connect();
      return withTable(view, query.collection, (table) => findPage<D>(connection, table, query));
    },
    async count(query, cap) {
      const connection = connect();
      return withTable(view, query.collection, (table) => countRows(connection, table, query, cap));
    },
    async positions(readModel, partition) {
      const connection = connect();
      const { version } = view.model(readModel);
      const sql = 'SELECT offsets FROM positions WHERE read_model = ? AND version = ? AND partition = ?';
      const [row] = connection.rows(sql, [readModel, version, partition]);
      return row === undefined ? new Map<Topic, number>() : offsetsOf(String(row[0]));
    },
    async hasCaughtUp(readModel) {
      return connect().rows(caughtUpSql, [readModel]).length > 0;
    },
    async secret(readModel) {
      return secretOf(connect(), readModel);
    },
  };
}

const caughtUpSql = `SELECT 1 FROM read_models WHERE name = ?1 AND state = 'current'
  AND NOT EXISTS (SELECT 1 FROM catching_up WHERE read_model = ?1)`;

/** An index may have been declared since the view was read: looked up once more before the query is refused. */
function withTable<T>(view: View, collection: string, ask: (table: Table) => T): T {
  try {
    return ask(view.table(collection));
  } catch (error) {
    if (!(error instanceof NoFittingIndexError)) throw error;
    view.refresh();
    return ask(view.table(collection));
  }
}

/**
 * All ids in one statement: each statement outside a transaction takes and leaves a file lock, which costs ten times what the
 * seek does. CROSS JOIN keeps SQLite from scanning the table for the ids.
 */
function documentsById<D extends Document>(
  connection: Connection,
  table: Table,
  ids: readonly string[],
  only: Only,
): Map<string, D> {
  const documents = new Map<string, D>();
  if (ids.length === 0) return documents;
  const wanted = wantedColumns(table, only.fields).map((column) => `stored.${column}`);
  const text = `SELECT ${[...wanted, 'stored.id'].join(', ')} FROM json_each(?) AS asked
    CROSS JOIN ${table.name} AS stored ON stored.id = asked.value`;
  const { shown, isCut } = rowsWithin(connection, { text, values: [JSON.stringify(ids)] }, ids.length, only);
  if (isCut && only.orRefuse === true) throw new TooManyBytesError(table.collection, only.bytesMax ?? 0);
  for (const row of shown) documents.set(String(row.at(-1)), documentOf(row, only.fields) as D);
  return documents;
}

function findPage<D extends Document>(connection: Connection, table: Table, query: Query): Page<D> {
  const limit = Math.min(query.limit, rowsPerPageMax);
  if (!(limit >= 1)) throw new RangeError('a page has at least one row');
  const { text, values } = findSql(table, query, limit);
  const isFiltered = query.filter !== undefined && Object.keys(query.filter).length > 0;
  const rows = () => rowsWithin(connection, { text, values }, limit, query);
  if (!isFiltered) return pageOf(rows(), query);
  return snapshot(connection, () => {
    const page = pageOf<D>(rows(), query);
    return page.next === null ? { ...page, next: boundaryKey(connection, table, query) } : page;
  });
}

interface Rows {
  readonly shown: readonly (readonly Cell[])[];
  /** There are more of them. */
  readonly isCut: boolean;
}

function rowsWithin(connection: Connection, { text, values }: Sql, limit: number, only: Only): Rows {
  const bytesMax = only.fields === undefined ? (only.bytesMax ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  const shown: Cell[][] = [];
  let bytes = 0;
  for (const row of connection.eachRow(text, values)) {
    if (bytesMax < Number.POSITIVE_INFINITY) bytes += Buffer.byteLength(String(row[0]));
    if (shown.length === limit || (shown.length > 0 && bytes > bytesMax)) return { shown, isCut: true };
    shown.push(row);
  }
  return { shown, isCut: false };
}

function pageOf<D extends Document>({ shown, isCut }: Rows, { fields, order }: Query): Page<D> {
  const documents = shown.map((row) => {
    const document = documentOf(row, fields);
    document['id'] = row.at(-1);
    return document as Found<D>;
  });
  const key = shown.at(-1)?.slice(-(order.fields.length + 1));
  return { documents, next: isCut ? (key ?? null) : null };
}

/** The first cells of a row. */
function documentOf(row: readonly Cell[], fields: readonly string[] | undefined): Record<string, unknown> {
  if (fields === undefined) return JSON.parse(String(row[0])) as Record<string, unknown>;
  return Object.fromEntries(fields.map((field, i) => [field, row[i] ?? null]));
}

/** Where a short page ends that has looked at as many rows as it may; null when there are no more. */
function boundaryKey(connection: Connection, table: Table, query: Query): FieldValue[] | null {
  const { text, values } = boundarySql(table, query);
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

function countRows(connection: Connection, table: Table, query: CountQuery, cap: number) {
  const { text, values } = countSql(table, query, cap);
  const [row] = connection.rows(text, values);
  const looked = Number(row?.[0] ?? 0);
  const passed = Number(row?.[1] ?? 0);
  return { count: Math.min(passed, cap), exact: looked <= cap };
}
