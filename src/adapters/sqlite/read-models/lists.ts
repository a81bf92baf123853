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
import type { EntryWriter } from './list-entries.ts';
import { createEntryWriter, entryOf } from './list-entries.ts';
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

/** What the documents written in one transaction change in the lists. */
export interface ListChanges {
  /** For a document that had no entries. @throws TypeError where a list is something else */
  inserted(table: Table, id: string, document: Document): void;
  /** In place of the document as it was; null: it is removed. @throws TypeError where a list is something else */
  replaced(table: Table, id: string, before: Document, after: Document | null): void;
  /** At the end: in the order of their places, since a lower one after a higher ends a segment. */
  write(): void;
}

export function createListChanges(connection: Connection): ListChanges {
  const writers = new Map<TableIndex, EntryWriter>();
  const writerOf = (index: TableIndex): EntryWriter => {
    const writer = writers.get(index) ?? createEntryWriter(index, (sql) => connection.statement(sql));
    writers.set(index, writer);
    return writer;
  };
  return {
    inserted(table, id, document) {
      for (const index of table.indexes)
        if (index.isList) writerOf(index).change(id, null, entryOf(table, index, document));
    },
    replaced(table, id, before, after) {
      for (const index of table.indexes) {
        if (!index.isList) continue;
        const entry = after === null ? null : entryOf(table, index, after);
        writerOf(index).change(id, entryOf(table, index, before), entry);
      }
    },
    write() {
      for (const writer of writers.values()) writer.write();
    },
  };
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
    const writer = createEntryWriter(index, (sql) => db.prepare(sql));
    for (const row of rows) {
      after = String(row.at(-1));
      writer.change(after, null, entryOf(table, index, documentOfRow(table.packing, after, row)));
    }
    writer.write();
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
