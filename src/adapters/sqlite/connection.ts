// A connection to a store's file with its prepared statements, and what a transaction on it is.

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import { type DatabaseOptions, openDatabase } from './sqlite.ts';

/** Statements kept prepared: queries come in as many texts as there are combinations of filters. */
const statementsMax = 256;

/** The stores' columns hold text and numbers. */
export type Cell = string | number | null;

export interface Connection {
  readonly db: DatabaseSync;
  /** Rows as objects. */
  statement(sql: string): StatementSync;
  /** Rows as arrays in the order of the columns: half the cost of objects. */
  rows(sql: string, values: readonly SQLInputValue[]): Cell[][];
  /** The same one after another, for whoever may stop before the last: what wasn't asked for isn't read. */
  eachRow(sql: string, values: readonly SQLInputValue[]): Iterable<Cell[]>;
  /** All or nothing; @throws whatever `work` throws, with nothing written */
  transaction<T>(work: () => T): T;
  /** After so many pages of the write-ahead file the next commit copies them into the file. */
  checkpointAfter(pages: number): void;
  close(): void;
}

/** @throws Error when the file can't be opened */
export function openConnection(path: string, options: DatabaseOptions): Connection {
  return connectionOf(openDatabase(path, options));
}

function connectionOf(db: DatabaseSync): Connection {
  const statements = new Map<string, StatementSync>();
  const arrayStatements = new Map<string, StatementSync>();
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let checkpointPages: number | null = null;

  const prepared = (cache: Map<string, StatementSync>, sql: string): StatementSync => {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    if (cache === arrayStatements) statement.setReturnArrays(true);
    if (cache.size >= statementsMax) dropOldest(cache);
    cache.set(sql, statement);
    return statement;
  };

  return {
    db,
    statement: (sql) => prepared(statements, sql),
    rows: (sql, values) => prepared(arrayStatements, sql).all(...values) as unknown as Cell[][],
    eachRow: (sql, values) =>
      prepared(arrayStatements, sql).iterate(...values) as Iterable<unknown> as Iterable<Cell[]>,
    transaction(work) {
      begin.run();
      try {
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        // SQLite rolls back by itself on some failures (a full disk); a second rollback would hide the first error.
        if (db.isTransaction) rollback.run();
        throw error;
      }
    },
    checkpointAfter(pages) {
      if (pages === checkpointPages) return;
      db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
      checkpointPages = pages;
    },
    close() {
      if (db.isOpen) db.close();
    },
  };
}

function dropOldest(cache: Map<string, StatementSync>): void {
  const [oldest] = cache.keys();
  if (oldest !== undefined) cache.delete(oldest);
}
