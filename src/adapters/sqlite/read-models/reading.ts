// The queries of the port over a connection and a view; used by the one writer and by every reader.

import type { Topic } from '../../../domain/topics.ts';
import { foldedAheadOf } from '../../../ports/folded-ahead.ts';
import type { Document, Only, Query, RangesQuery, ReadModelReader } from '../../../ports/read-model-store.ts';
import { NoFittingIndexError } from '../../../ports/read-model-store.ts';
import type { ThreadTurns } from '../../../ports/thread-turns.ts';
import { wholeTurns } from '../../../ports/thread-turns.ts';
import type { Connection } from '../connection.ts';
import { countRows } from './counting.ts';
import { documentsById, findPage, findRanges } from './looks.ts';
import { isIndexed } from './indexing.ts';
import { aheadSql, offsetsOf } from './positions.ts';
import { secretOf } from './secrets.ts';
import type { Table } from './tables.ts';
import type { View } from './view.ts';

export type Reading = Pick<
  ReadModelReader,
  'get' | 'find' | 'findRanges' | 'count' | 'positions' | 'ahead' | 'hasCaughtUp' | 'isIndexed' | 'secret'
>;

/**
 * @param connect gives the connection, or throws when the store is away
 * @param turns of the thread; absent: nobody else waits for it
 */
export function createReading(connect: () => Connection, view: View, turns: ThreadTurns = wholeTurns): Reading {
  const looking = { connect, turns };
  return {
    async get<D extends Document>(collection: string, ids: readonly string[], only: Only = {}) {
      return withTable(view, collection, (table) => documentsById<D>(looking, table, ids, only));
    },
    async find<D extends Document>(query: Query) {
      return withTable(view, query.collection, (table) => findPage<D>(looking, table, query));
    },
    async findRanges<D extends Document>(query: RangesQuery) {
      return withTable(view, query.collection, (table) => findRanges<D>(looking, table, query));
    },
    async count(query, cap) {
      return withTable(view, query.collection, (table) => countRows(looking, table, query, cap));
    },
    async positions(readModel, partition) {
      const connection = connect();
      const { version } = view.model(readModel);
      const sql = 'SELECT offsets FROM positions WHERE read_model = ? AND version = ? AND partition = ?';
      const [row] = connection.rows(sql, [readModel, version, partition]);
      return row === undefined ? new Map<Topic, number>() : offsetsOf(String(row[0]));
    },
    async ahead(readModel, partition) {
      const connection = connect();
      // A file that a release of before has made, and nobody has written since.
      if (connection.rows(hasAheadSql, []).length === 0) return null;
      const [row] = connection.rows(aheadSql, [readModel, view.model(readModel).version, partition]);
      return row === undefined ? null : foldedAheadOf(String(row[0]));
    },
    async hasCaughtUp(readModel) {
      return connect().rows(caughtUpSql, [readModel]).length > 0;
    },
    async isIndexed(readModel) {
      return isIndexed(connect(), readModel);
    },
    async secret(readModel) {
      return secretOf(connect(), readModel);
    },
  };
}

const hasAheadSql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'folded_ahead'";

const caughtUpSql = `SELECT 1 FROM read_models WHERE name = ?1 AND state = 'current'
  AND NOT EXISTS (SELECT 1 FROM catching_up WHERE read_model = ?1)`;

/** An index may have been declared since the view was read: looked up once more before the query is refused. */
async function withTable<T>(view: View, collection: string, ask: (table: Table) => Promise<T>): Promise<T> {
  try {
    return await ask(view.table(collection));
  } catch (error) {
    if (!(error instanceof NoFittingIndexError)) throw error;
    view.refresh();
    return ask(view.table(collection));
  }
}
