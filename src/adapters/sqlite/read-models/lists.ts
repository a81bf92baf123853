// Indexes with a list of texts: a table each, with a row for every text of a document.
//
//   search_v1_searchable_by_terms_listedAt_sparse (terms, listedAt, id), ordered by all three: found as the rows of any other index are

import type { DatabaseSync } from 'node:sqlite';

import type { Document } from '../../../ports/read-model-store.ts';
import type { Cell, Connection } from '../connection.ts';
import type { Table, TableIndex } from './tables.ts';
import { quoted } from './tables.ts';

/** Makes and fills the tables that are missing, and removes those no longer declared. Answers whether anything had to be done. */
export function alignLists(db: DatabaseSync, table: Table): boolean {
  const present = listTables(db, table);
  const declared = table.indexes.filter(({ isList }) => isList);
  const missing = declared.filter(({ name }) => !present.includes(name));
  const surplus = present.filter((name) => !declared.some((index) => index.name === name));
  for (const name of surplus) db.exec(`DROP TABLE ${quoted(name)}`);
  for (const index of missing) makeList(db, table, index);
  return missing.length > 0 || surplus.length > 0;
}

export function dropLists(db: DatabaseSync, table: Table): void {
  for (const name of listTables(db, table)) db.exec(`DROP TABLE ${quoted(name)}`);
}

/** For a document that has no entries yet. @throws TypeError where a list is something else */
export function insertEntries(connection: Connection, table: Table, id: string, document: Document): void {
  for (const index of table.indexes) {
    if (!index.isList) continue;
    const entry = entryOf(table, index, document);
    if (entry !== null) connection.statement(insertSql(index)).run(entry.texts, ...entry.rest, id);
  }
}

/** Instead of those of the document as it was; null: it is removed. @throws TypeError where a list is something else */
export function replaceEntries(
  connection: Connection,
  table: Table,
  id: string,
  before: Document,
  after: Document | null,
): void {
  for (const index of table.indexes) {
    if (!index.isList) continue;
    const old = entryOf(table, index, before);
    const entry = after === null ? null : entryOf(table, index, after);
    if (JSON.stringify(old) === JSON.stringify(entry)) continue;
    if (old !== null) connection.statement(deleteSql(index)).run(old.texts, ...old.rest, id);
    if (entry !== null) connection.statement(insertSql(index)).run(entry.texts, ...entry.rest, id);
  }
}

interface Entry {
  /** JSON text of the list. */
  readonly texts: string;
  readonly rest: readonly Exclude<Cell, null>[];
}

/** null: the document isn't in the index. */
function entryOf(table: Table, { fields }: TableIndex, document: Document): Entry | null {
  const [list = '', ...others] = fields;
  const values = document as Readonly<Record<string, unknown>>;
  const texts = values[list] ?? [];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new TypeError(`${table.collection}.${list} is declared as texts and was given something else`);
  const rest = others.map((field) => (values[field] ?? null) as Cell).filter((value) => value !== null);
  return texts.length === 0 || rest.length < others.length ? null : { texts: JSON.stringify(texts), rest };
}

function makeList(db: DatabaseSync, table: Table, { name, fields }: TableIndex): void {
  const [list = '', ...others] = fields;
  const columns = fields.map((field) => {
    const isNumber = table.columns.find((column) => column.name === field)?.type === 'number';
    return `${quoted(field)} ${isNumber ? 'INTEGER' : 'TEXT'} NOT NULL`;
  });
  const keys = [...fields.map(quoted), 'id'].join(', ');
  db.exec(
    `CREATE TABLE ${quoted(name)} (${columns.join(', ')}, id TEXT NOT NULL, PRIMARY KEY (${keys})) WITHOUT ROWID`,
  );
  const present = others.map((field) => ` AND d.${quoted(field)} IS NOT NULL`).join('');
  db.exec(`INSERT OR IGNORE INTO ${quoted(name)} (${keys})
    SELECT ${['e.value', ...others.map((field) => `d.${quoted(field)}`), 'd.id'].join(', ')}
    FROM ${table.name} AS d, json_each(d.document, '$.${list}') AS e WHERE true${present}`);
}

function insertSql({ name, fields }: TableIndex): string {
  const [, ...others] = fields;
  // Numbered: the list is the first parameter and stands last.
  const rest = [...others, 'id'].map((_, i) => `?${i + 2}`).join(', ');
  const keys = [...fields.map(quoted), 'id'].join(', ');
  return `INSERT OR IGNORE INTO ${quoted(name)} (${keys}) SELECT value, ${rest} FROM json_each(?1)`;
}

function deleteSql({ name, fields }: TableIndex): string {
  const [list = '', ...others] = fields;
  const rest = [...others.map(quoted), 'id'].map((field, i) => `${field} = ?${i + 2}`).join(' AND ');
  return `DELETE FROM ${quoted(name)} WHERE ${quoted(list)} IN (SELECT value FROM json_each(?1)) AND ${rest}`;
}

function listTables(db: DatabaseSync, table: Table): string[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?";
  return db
    .prepare(sql)
    .all(`${table.name}_by_*`)
    .map((row) => String(row['name']));
}
