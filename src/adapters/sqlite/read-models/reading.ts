// The queries of the port over a connection and a view; used by the one writer and by every reader.

import type { Topic } from '../../../domain/topics.ts';
import type { Document, FieldValue, Page, Query, ReadModelReader } from '../../../ports/read-model-store.ts';
import { NoFittingIndexError, rowsPerPageMax } from '../../../ports/read-model-store.ts';
import type { Cell, Connection } from '../connection.ts';
import { offsetsOf } from './positions.ts';
import type { CountQuery, Sql } from './queries.ts';
import { boundarySql, countSql, findSql } from './queries.ts';
import type { Table } from './tables.ts';
import type { View } from './view.ts';

export type Reading = Pick<ReadModelReader, 'get' | 'find' | 'count' | 'positions'>;

type Found<D extends Document> = D & { readonly id: string };

/** @param connect gives the connection, or throws when the store is away */
export function createReading(connect: () => Connection, view: View): Reading {
  return {
    async get<D extends Document>(collection: string, ids: readonly string[]) {
      const connection = connect();
      return documentsById<D>(connection, view.table(collection), ids);
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
  };
}

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
): Map<string, D> {
  const documents = new Map<string, D>();
  if (ids.length === 0) return documents;
  const sql = `SELECT stored.id, stored.document FROM json_each(?) AS asked
    CROSS JOIN ${table.name} AS stored ON stored.id = asked.value`;
  for (const [id, document] of connection.rows(sql, [JSON.stringify(ids)])) {
    documents.set(String(id), JSON.parse(String(document)) as D);
  }
  return documents;
}

function findPage<D extends Document>(connection: Connection, table: Table, query: Query): Page<D> {
  const limit = Math.min(query.limit, rowsPerPageMax);
  if (!(limit >= 1)) throw new RangeError('a page has at least one row');
  const { text, values } = findSql(table, query, limit);
  const isFiltered = query.filter !== undefined && Object.keys(query.filter).length > 0;
  const rows = () => rowsWithin(connection, { text, values }, limit, query.bytesMax);
  if (!isFiltered) return pageOf(rows());
  return snapshot(connection, () => {
    const page = pageOf<D>(rows());
    return page.next === null ? { ...page, next: boundaryKey(connection, table, query) } : page;
  });
}

interface Rows {
  readonly shown: readonly (readonly Cell[])[];
  /** There are more of them. */
  readonly isCut: boolean;
}

function rowsWithin(
  connection: Connection,
  { text, values }: Sql,
  limit: number,
  bytesMax = Number.POSITIVE_INFINITY,
): Rows {
  const shown: Cell[][] = [];
  let bytes = 0;
  for (const row of connection.eachRow(text, values)) {
    bytes += Buffer.byteLength(String(row[0]));
    if (shown.length === limit || (shown.length > 0 && bytes > bytesMax)) return { shown, isCut: true };
    shown.push(row);
  }
  return { shown, isCut: false };
}

function pageOf<D extends Document>({ shown, isCut }: Rows): Page<D> {
  const documents = shown.map((row) => {
    const document = JSON.parse(String(row[0])) as Record<string, unknown>;
    document['id'] = row.at(-1);
    return document as Found<D>;
  });
  return { documents, next: isCut ? (shown.at(-1)?.slice(1) ?? null) : null };
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
