// Indexes with a list of texts: a full-text table of SQLite (FTS5) each. It appends and merges sorted segments, where a B-tree would look up and rewrite a
// page for every text of every document.
//
//   search_2_v1_searchable_2_by_terms_listedAt_list     the texts as words; keeps no contents, only for each word its rowids, in their order
//   ..._by_terms_listedAt_list_places (place, id)       whose a rowid is
//
// The rowid is the document's place in the index's order: the number, and 21 bits of the id so that others of the same number have places beside it.

import type { DatabaseSync } from 'node:sqlite';

import type { Document } from '../../../ports/read-model-store.ts';
import type { Cell, Connection } from '../connection.ts';
import type { EntryChanges } from './list-entries.ts';
import { changeEntry, entryOf, writeEntries } from './list-entries.ts';
import { placesOf } from './list-places.ts';
import { documentOfRow } from './packing.ts';
import type { Table, TableIndex } from './tables.ts';
import { quoted } from './tables.ts';

/** Makes and fills the tables that are missing, and removes those no longer declared. Answers whether anything had to be done. */
export function alignLists(db: DatabaseSync, table: Table): boolean {
  const present = listTables(db, table);
  const declared = table.indexes.filter(({ isList }) => isList);
  const missing = declared.filter(({ name }) => !present.includes(name));
  const surplus = present.filter((name) => !declared.some((index) => name === index.name || name === placesOf(index)));
  for (const name of surplus) db.exec(`DROP TABLE ${quoted(name)}`);
  for (const index of missing) makeList(db, table, index);
  return missing.length > 0 || surplus.length > 0;
}

export function dropLists(db: DatabaseSync, table: Table): void {
  for (const name of listTables(db, table)) db.exec(`DROP TABLE ${quoted(name)}`);
}

/** The tables that hold what the lists take, to be emptied by rows before they are dropped: SQLite's own of a full-text table, and the places. */
export function listRows(db: DatabaseSync, table: Table): string[] {
  const places = new Set(table.indexes.filter(({ isList }) => isList).map(placesOf));
  return listTables(db, table).map((name) => (places.has(name) ? name : `${name}_data`));
}

/** What the documents written in one transaction change in the lists, by index: to be written at its end. */
export type ListChanges = Map<TableIndex, EntryChanges>;

/** @param before as stored now, null: it had no entries. @param after null: it is removed. @throws TypeError where a list is something else */
export function changeLists(
  changes: ListChanges,
  table: Table,
  id: string,
  before: Document | null,
  after: Document | null,
): void {
  for (const index of table.indexes) {
    if (!index.isList) continue;
    const entries = changes.get(index) ?? new Map();
    changes.set(index, entries);
    const entryBefore = before === null ? null : entryOf(table, index, before);
    changeEntry(entries, id, entryBefore, after === null ? null : entryOf(table, index, after));
  }
}

export function writeLists(changes: ListChanges, connection: Connection): void {
  for (const [index, entries] of changes) writeEntries(entries, index, connection.statement);
}

/** Documents whose entries are made at a time. */
const documentsPerWrite = 1000;

function makeList(db: DatabaseSync, table: Table, index: TableIndex): void {
  const options = `content='', contentless_delete=1, detail=none, tokenize='ascii'`;
  db.exec(`CREATE VIRTUAL TABLE ${quoted(index.name)} USING fts5(texts, ${options})`);
  db.exec(`CREATE TABLE ${quoted(placesOf(index))} (place INTEGER PRIMARY KEY, id TEXT NOT NULL)`);
  const columns = [...table.documentColumns, 'id'].join(', ');
  const select = db.prepare(`SELECT ${columns} FROM ${table.name} WHERE id > ? ORDER BY id LIMIT ${documentsPerWrite}`);
  select.setReturnArrays(true);
  for (let after = ''; ;) {
    const rows = select.all(after) as unknown as Cell[][];
    if (rows.length === 0) return;
    const entries: EntryChanges = new Map();
    for (const row of rows) {
      after = String(row.at(-1));
      changeEntry(entries, after, null, entryOf(table, index, documentOfRow(table.packing, after, row)));
    }
    writeEntries(entries, index, (sql) => db.prepare(sql));
  }
}

/** Without those that SQLite makes for a full-text table. */
function listTables(db: DatabaseSync, table: Table): string[] {
  const sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name GLOB ?";
  return db
    .prepare(sql)
    .all(`${table.name}_by_*`)
    .map((row) => String(row['name']));
}
