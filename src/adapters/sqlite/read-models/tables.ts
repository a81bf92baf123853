// The tables of a read model: one per collection and version, the declared fields as real columns beside the JSON
// text of the document.

import type { DatabaseSync } from 'node:sqlite';

import type { CollectionDefinition, IndexDefinition, IndexesMade } from '../../../ports/read-model-store.ts';
import { NoFittingIndexError } from '../../../ports/read-model-store.ts';
import { alignLists, dropLists } from './lists.ts';
import { type Packing, packingOf, valueSql } from './packing.ts';

export interface Table {
  readonly name: string;
  readonly collection: string;
  readonly columns: readonly Column[];
  readonly indexes: readonly TableIndex[];
  /** null: its documents are kept as they are. */
  readonly packing: Packing | null;
  /** What is read of a row to have its document: the text first. */
  readonly documentColumns: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly type: 'text' | 'number';
}

export interface TableIndex {
  /** Of the index; where it has a list, of the full-text table (see lists.ts). */
  readonly name: string;
  readonly fields: readonly string[];
  readonly sparse: boolean;
  /** Its first field is a list of texts. */
  readonly isList: boolean;
}

/** @throws Error for names that can't be a table's or a column's, and for indexes on fields that aren't declared */
export function tableOf(readModel: string, version: number, collection: CollectionDefinition): Table {
  const name = `${checkedName(readModel)}_v${version}_${checkedName(collection.name)}`;
  const columns = Object.entries(collection.fields).flatMap(([field, type]): Column[] =>
    type === 'texts' ? [] : [{ name: checkedField(field), type }],
  );
  const indexes = collection.indexes.map((index) => tableIndexOf(name, collection, index));
  const { shape } = collection;
  const packing =
    shape === undefined ? null : packingOf(collection.name, shape, new Set(columns.map((column) => column.name)));
  const documentColumns = ['document', ...(packing?.columns ?? []).map(quoted)];
  return { name, collection: collection.name, columns, indexes, packing, documentColumns };
}

/**
 * Makes what is missing of a table and removes what is no longer declared; a new column is filled from the documents that are there.
 * Answers whether anything had to be done. Lists have their full-text tables at once: those are made by what is written alone.
 */
export function prepareTable(db: DatabaseSync, table: Table, indexes: IndexesMade): boolean {
  const isNew =
    namesOf(db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = '${table.name}'`).size === 0;
  if (isNew) db.exec(createTableSql(table));
  const indexesDropped = dropUndeclaredIndexes(db, table);
  const columnsChanged = !isNew && alignColumns(db, table);
  const missing = indexes === 'at once' ? missingIndexes(db, table) : [];
  for (const index of missing) makeIndex(db, table, index);
  const listsChanged = alignLists(db, table);
  return isNew || indexesDropped || columnsChanged || missing.length > 0 || listsChanged;
}

export function missingIndexes(db: DatabaseSync, table: Table): readonly TableIndex[] {
  const present = indexNames(db, table);
  return table.indexes.filter(({ name, isList }) => !isList && !present.has(name));
}

export function makeIndex(db: DatabaseSync, table: Table, index: TableIndex): void {
  const terms = sparseTerms(index);
  const where = terms.length === 0 ? '' : ` WHERE ${terms.join(' AND ')}`;
  const keys = [...index.fields.map(quoted), 'id'].join(', ');
  db.exec(`CREATE INDEX IF NOT EXISTS ${quoted(index.name)} ON ${table.name} (${keys})${where}`);
}

export function dropTable(db: DatabaseSync, table: Table): void {
  dropLists(db, table);
  db.exec(`DROP TABLE IF EXISTS ${table.name}`);
}

/** A quoted column. */
export function quoted(field: string): string {
  return `"${field}"`;
}

/** The terms that a sparse index's rows fulfil, and that a query must repeat for SQLite to use it. */
export function sparseTerms(index: TableIndex): readonly string[] {
  return index.sparse ? index.fields.map((field) => `${quoted(field)} IS NOT NULL`) : [];
}

/** What is read of a row: what its document is made of, or these fields in its place. @throws NoFittingIndexError for what isn't declared */
export function wantedColumns(table: Table, fields: readonly string[] | undefined): readonly string[] {
  if (fields === undefined) return table.documentColumns;
  return fields.map((field) => {
    if (table.columns.some(({ name }) => name === field)) return quoted(field);
    throw new NoFittingIndexError(`${table.collection} doesn't declare ${field}, which was asked for`);
  });
}

function tableIndexOf(table: string, collection: CollectionDefinition, index: IndexDefinition): TableIndex {
  const unknown = index.fields.find((field) => collection.fields[field] === undefined);
  if (unknown !== undefined) throw new Error(`${collection.name} has an index on ${unknown}, which it doesn't declare`);
  const lists = index.fields.filter((field) => collection.fields[field] === 'texts');
  const isList = lists.length > 0;
  const isNumber = collection.fields[index.fields[1] ?? ''] === 'number';
  if (isList && !(index.fields.length === 2 && lists.length === 1 && lists[0] === index.fields[0] && isNumber))
    throw new Error(`${collection.name} has an index that isn't of a list and then a number`);
  const sparse = isList || index.sparse === true;
  const kind = isList ? '_list' : sparse ? '_sparse' : '';
  const name = `${table}_by_${index.fields.join('_')}${kind}`;
  return { name, fields: index.fields, sparse, isList };
}

// An ordinary rowid table: WITHOUT ROWID is slower for whole documents. The document last: to read a column after it SQLite goes through all of its pages.
function createTableSql(table: Table): string {
  const columns = table.columns.map(columnSql);
  return `CREATE TABLE ${table.name} (${['id TEXT PRIMARY KEY', ...columns, 'document TEXT NOT NULL'].join(', ')})`;
}

function columnSql(column: Column): string {
  return `${quoted(column.name)} ${sqlType(column)}`;
}

// INTEGER affinity keeps whole numbers short and fractions as they are.
function sqlType(column: Column): string {
  return column.type === 'text' ? 'TEXT' : 'INTEGER';
}

function alignColumns(db: DatabaseSync, table: Table): boolean {
  const present = new Map<string, string>();
  for (const row of db.prepare(`PRAGMA table_info(${table.name})`).all())
    present.set(String(row['name']), String(row['type']));
  present.delete('id');
  present.delete('document');
  let changed = false;
  for (const [name, type] of present) {
    if (table.columns.some((column) => column.name === name && sqlType(column) === type)) continue;
    if (table.packing?.columns.includes(name) === true)
      throw new Error(`${table.collection} keeps ${name} beside its documents: it stays as it was declared`);
    db.exec(`ALTER TABLE ${table.name} DROP COLUMN ${quoted(name)}`);
    present.delete(name);
    changed = true;
  }
  for (const column of table.columns.filter(({ name }) => !present.has(name))) {
    db.exec(`ALTER TABLE ${table.name} ADD COLUMN ${columnSql(column)}`);
    db.exec(`UPDATE ${table.name} SET ${quoted(column.name)} = ${valueSql(table.packing, column.name)}`);
    changed = true;
  }
  return changed;
}

function dropUndeclaredIndexes(db: DatabaseSync, table: Table): boolean {
  const declared = new Set(table.indexes.filter(({ isList }) => !isList).map(({ name }) => name));
  const surplus = [...indexNames(db, table)].filter((name) => !declared.has(name));
  for (const name of surplus) db.exec(`DROP INDEX ${quoted(name)}`);
  return surplus.length > 0;
}

function indexNames(db: DatabaseSync, table: Table): Set<string> {
  return namesOf(
    db,
    `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = '${table.name}' AND sql IS NOT NULL`,
  );
}

function namesOf(db: DatabaseSync, sql: string): Set<string> {
  return new Set(
    db
      .prepare(sql)
      .all()
      .map((row) => String(row['name'])),
  );
}

function checkedName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(name))
    throw new Error(`${name} can't be the name of a read model or a collection`);
  return name;
}

function checkedField(field: string): string {
  const taken = field.toLowerCase() === 'id' || field.toLowerCase() === 'document';
  if (taken || !/^[A-Za-z][A-Za-z0-9_]{0,40}$/.test(field)) throw new Error(`${field} can't be the name of a field`);
  return field;
}
