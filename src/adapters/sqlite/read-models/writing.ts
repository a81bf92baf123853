// Taking a partition number over, and folding a batch into it: one transaction, the position first.

import type { SQLInputValue } from 'node:sqlite';

import type { Topic } from '../../../domain/topics.ts';
import { StaleOwnerError } from '../../../ports/event-log.ts';
import type { FoldedAhead } from '../../../ports/folded-ahead.ts';
import { foldedAheadOf, foldedAheadText } from '../../../ports/folded-ahead.ts';
import type { Claimed, Document, Ownership, ReadModelStore, Write } from '../../../ports/read-model-store.ts';
import { HeldError, NewerOwnerError } from '../../../ports/read-model-store.ts';
import type { Connection } from '../connection.ts';
import type { IndexingDependencies } from './indexing.ts';
import { isIndexed, makeIndexes, noteIndexed } from './indexing.ts';
import { aheadSql, offsetsOf, offsetsText } from './positions.ts';
import { createGroupedTransactions } from '../grouped-transactions.ts';
import type { ListChanges } from './lists.ts';
import { changeLists, writeLists } from './lists.ts';
import { documentOfRow, rowText } from './packing.ts';
import type { Column, Table, TableIndex } from './tables.ts';
import { quoted } from './tables.ts';
import type { ModelVersion, View } from './view.ts';

export type Writing = Pick<ReadModelStore, 'own' | 'transact' | 'noteCaughtUp'>;

/** Of a batch: whoever has so many is catching up, or under load. */
const manyWrites = 100;
/**
 * A checkpoint of 32 MiB keeps the disk busy for 20 to 50 ms, every 2 s at 200 notifications a second, and the log's commits wait for it: of the slowest
 * hundredth of notifications six in ten stood beside one, and their 99th percentile was 20 and 27 ms in place of 14 and 18. Whoever catches up has 5 % less
 * to do with as much at once: a page that is written again and again is copied once.
 */
export const checkpointPages = { few: 1000, many: 8000 } as const;

/** Of each version whose owners are refused, and whoever wants to own it, until it is released or the process ends. */
export type HeldSet = Set<string>;

export function heldKey({ name, version }: Pick<ModelVersion, 'name' | 'version'>): string {
  return `${name}:${version}`;
}

/** Whoever owns a number of it is its owner no more. */
export function fence(connection: Connection, { name, version }: Pick<ModelVersion, 'name' | 'version'>): void {
  const raise = 'UPDATE positions SET epoch = epoch + 1 WHERE read_model = ? AND version = ?';
  connection.statement(raise).run(name, version);
}

export interface WritingDependencies extends IndexingDependencies {
  readonly view: View;
  readonly held: HeldSet;
  /** Called with the read model after each transaction that moved it. */
  changed(readModel: string): void;
}

export function createWriting(deps: WritingDependencies): Writing {
  const { connection, view, held, changed } = deps;
  const transactions = createGroupedTransactions(connection);
  const grants = createGrants();
  return {
    async own(readModel, partition, by) {
      const model = view.model(readModel);
      if (held.has(heldKey(model))) throw new HeldError(readModel);
      const { version } = model;
      grants.check(readModel, partition, by);
      const row = connection.statement(takeOverSql).get(readModel, version, partition);
      if (row === undefined) throw new Error(`the position of ${readModel} ${partition} was not given`);
      grants.note(readModel, partition, by);
      const aheadRow = connection.statement(aheadSql).get(readModel, version, partition);
      const ahead = aheadRow === undefined ? null : foldedAheadOf(String(aheadRow['ahead']));
      return { readModel, partition, epoch: Number(row['epoch']), offsets: offsetsOf(String(row['offsets'])), ahead };
    },
    async transact(owner, offsets, writes, ahead = owner.ahead) {
      const moved = offsets.size === 0 ? owner.offsets : new Map([...owner.offsets, ...offsets]);
      connection.checkpointAfter(writes.length >= manyWrites ? checkpointPages.many : checkpointPages.few);
      await transactions.run(() => {
        move(connection, view, owner, moved);
        if (ahead !== owner.ahead) noteAhead(connection, view, owner, ahead);
        write(connection, view, writes);
      });
      changed(owner.readModel);
      return { ...owner, offsets: moved, ahead };
    },
    async noteCaughtUp(readModel, signal) {
      if (!isIndexed(connection, readModel) && !(await makeIndexes(deps, view.model(readModel), signal))) return;
      await transactions.run(() => {
        connection.statement('DELETE FROM catching_up WHERE read_model = ?').run(readModel);
        noteIndexed(connection, readModel);
      });
    },
  };
}

/** By right of which generation each number was taken over. Not stored: the groups of this log live and end with its one process, and so does their count. */
function createGrants() {
  const generations = new Map<string, number>();
  return {
    /** @throws NewerOwnerError */
    check(readModel: string, partition: number, by: Claimed): void {
      const granted = generations.get(`${readModel}:${partition}`) ?? 0;
      if (granted > by.generation && granted !== by.after) throw new NewerOwnerError(readModel, partition, by, granted);
    },
    note(readModel: string, partition: number, { generation }: Claimed): void {
      generations.set(`${readModel}:${partition}`, generation);
    },
  };
}

const takeOverSql = `
  INSERT INTO positions (read_model, version, partition, epoch, offsets) VALUES (?, ?, ?, 1, '{}')
  ON CONFLICT DO UPDATE SET epoch = epoch + 1 RETURNING epoch, offsets`;

const moveSql = `
  UPDATE positions SET offsets = ? WHERE read_model = ? AND version = ? AND partition = ? AND epoch = ? AND offsets = ?`;

function move(connection: Connection, view: View, owner: Ownership, moved: ReadonlyMap<Topic, number>): void {
  const { readModel, partition, epoch } = owner;
  const { version } = view.model(readModel);
  const { changes } = connection
    .statement(moveSql)
    .run(offsetsText(moved), readModel, version, partition, epoch, offsetsText(owner.offsets));
  if (Number(changes) !== 1) {
    throw new StaleOwnerError(`number ${partition} of ${readModel} was taken over from the owner of epoch ${epoch}`);
  }
}

function noteAhead(
  connection: Connection,
  view: View,
  { readModel, partition }: Ownership,
  ahead: FoldedAhead | null,
): void {
  const key = [readModel, view.model(readModel).version, partition];
  if (ahead === null) {
    const sql = 'DELETE FROM folded_ahead WHERE read_model = ? AND version = ? AND partition = ?';
    connection.statement(sql).run(...key);
    return;
  }
  const sql = `INSERT INTO folded_ahead (read_model, version, partition, ahead) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET ahead = excluded.ahead`;
  connection.statement(sql).run(...key, foldedAheadText(ahead));
}

function write(connection: Connection, view: View, writes: readonly Write[]): void {
  const lists: ListChanges = new Map();
  for (const one of writes) writeOne(connection, view, lists, one);
  writeLists(lists, connection);
}

function writeOne(connection: Connection, view: View, lists: ListChanges, write: Write): void {
  const { collection, id, document, isNew } = write;
  const table = view.table(collection);
  if (document === null) {
    if (hasLists(table)) replaceLists(connection, lists, { table, id, document });
    connection.statement(`DELETE FROM ${table.name} WHERE id = ?`).run(id);
    return;
  }
  const row = { id, text: rowText(table.packing, collection, id, document), values: columnValues(table, document) };
  if (isNew === true && inserted(connection, table, row)) {
    if (hasLists(table)) changeLists(lists, table, id, null, document);
    return;
  }
  if (hasLists(table)) replaceLists(connection, lists, { table, id, document });
  if (!updated(connection, table, row)) inserted(connection, table, row);
}

function hasLists(table: Table): boolean {
  return table.indexes.some(isListIndex);
}

function isListIndex({ isList }: TableIndex): boolean {
  return isList;
}

/** Before the document itself is written: its entries follow from what is stored. */
function replaceLists(
  connection: Connection,
  lists: ListChanges,
  { table, id, document }: { readonly table: Table; readonly id: string; readonly document: Document | null },
): void {
  const select = `SELECT ${table.documentColumns.join(', ')} FROM ${table.name} WHERE id = ?`;
  const [stored] = connection.rows(select, [id]);
  const before = stored === undefined ? {} : documentOfRow(table.packing, id, stored);
  changeLists(lists, table, id, before, document);
}

interface Row {
  readonly id: string;
  readonly text: string;
  readonly values: readonly SQLInputValue[];
}

/** False when the document is there already. */
function inserted(connection: Connection, table: Table, { id, text, values }: Row): boolean {
  const { changes } = connection.statement(statementsOf(table).insert).run(id, text, ...values);
  return Number(changes) === 1;
}

/**
 * False when there is no such document. An UPDATE rewrites the entries of every index that names a column it sets, changed or not: so it sets those
 * that changed alone.
 */
function updated(connection: Connection, table: Table, { id, text, values }: Row): boolean {
  const [before] = connection.rows(statementsOf(table).selectColumns, [id]);
  if (before === undefined) return false;
  let columns = 0;
  const changed: SQLInputValue[] = [text];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? null;
    if (value === before[i]) continue;
    columns |= 1 << i;
    changed.push(value);
  }
  changed.push(id);
  connection.statement(updateSql(table, columns)).run(...changed);
  return true;
}

interface TableStatements {
  readonly selectColumns: string;
  readonly insert: string;
  /** By the columns that they set, a bit each: a text that is put together for each document is hashed whole to find its statement. */
  readonly updates: Map<number, string>;
}

/** Bits of a number. */
const columnsMax = 31;

const tableStatements = new WeakMap<Table, TableStatements>();

function statementsOf(table: Table): TableStatements {
  const known = tableStatements.get(table);
  if (known !== undefined) return known;
  const names = table.columns.map(({ name }) => quoted(name));
  if (names.length > columnsMax) throw new Error(`${table.collection} has over ${columnsMax} columns`);
  const selected = names.length === 0 ? '1' : names.join(', ');
  const statements = {
    selectColumns: `SELECT ${selected} FROM ${table.name} WHERE id = ?`,
    insert: `INSERT INTO ${table.name} (${['id', 'document', ...names].join(', ')})
      VALUES (?, ?${', ?'.repeat(names.length)}) ON CONFLICT (id) DO NOTHING`,
    updates: new Map<number, string>(),
  };
  tableStatements.set(table, statements);
  return statements;
}

function updateSql(table: Table, columns: number): string {
  const { updates } = statementsOf(table);
  const known = updates.get(columns);
  if (known !== undefined) return known;
  const names = table.columns.filter((_, i) => (columns & (1 << i)) !== 0).map(({ name }) => quoted(name));
  const sql = `UPDATE ${table.name} SET ${['document', ...names].map((name) => `${name} = ?`).join(', ')} WHERE id = ?`;
  updates.set(columns, sql);
  return sql;
}

function columnValues(table: Table, document: Document): SQLInputValue[] {
  const fields = document as Readonly<Record<string, unknown>>;
  const values: SQLInputValue[] = [];
  for (const column of table.columns) values.push(columnValue(table, column, fields[column.name]));
  return values;
}

function columnValue(table: Table, column: Column, value: unknown): SQLInputValue {
  if (value === undefined || value === null) return null;
  if (column.type === 'text' && typeof value === 'string') return value;
  if (column.type === 'number' && Number.isFinite(value)) return value as number;
  throw new TypeError(`${table.collection}.${column.name} is declared as ${column.type} and was given something else`);
}
