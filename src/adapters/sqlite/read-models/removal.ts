// Removing a read model that nobody uses any more, in steps: a DROP of a large table would hold the one writer for as long as it takes to go through its pages.
//
//   current ──first step──> next, without positions: nobody finds it ──rows, some at a time──> empty ──last step──> gone
//
// Whoever is interrupted goes on; whoever prepares the read model again meanwhile drops what is left and begins empty (store.ts).

import type { DatabaseSync } from 'node:sqlite';

import type { Connection } from '../connection.ts';
import { listRows } from './lists.ts';
import { abandonLeft, leftVersion } from './rebuild.ts';
import { quoted } from './tables.ts';

/** 5 to 10 ms with five indexes; blocks of 4 KiB where it is a full-text table. */
const rowsPerStep = 200;

export function removeSome(connection: Connection, readModel: string): 'more' | 'done' {
  return connection.transaction(() => {
    const { db } = connection;
    if (isTakenOutOfUse(db, readModel)) return 'more';
    const left = leftVersion(db, readModel);
    if (left === null) return 'done';
    for (const table of left.tables)
      for (const rows of [...listRows(db, table), table.name]) if (hasDeletedSome(db, rows)) return 'more';
    abandonLeft(db, readModel);
    db.prepare('DELETE FROM secrets WHERE read_model = ?').run(readModel);
    return 'done';
  });
}

/** False when it was already, or never was there. */
function isTakenOutOfUse(db: DatabaseSync, readModel: string): boolean {
  const isInUse = "SELECT 1 FROM read_models WHERE name = ? AND state = 'current'";
  if (db.prepare(isInUse).get(readModel) === undefined) return false;
  abandonLeft(db, readModel);
  for (const sql of [
    "UPDATE read_models SET state = 'next' WHERE name = ?",
    'DELETE FROM positions WHERE read_model = ?',
    'DELETE FROM folded_ahead WHERE read_model = ?',
    'DELETE FROM catching_up WHERE read_model = ?',
    'DELETE FROM unindexed WHERE read_model = ?',
  ])
    db.prepare(sql).run(readModel);
  return true;
}

function hasDeletedSome(db: DatabaseSync, table: string): boolean {
  const name = quoted(table);
  const sql = `DELETE FROM ${name} WHERE rowid IN (SELECT rowid FROM ${name} LIMIT ${rowsPerStep})`;
  // SQLite's own tables of a full-text table are open to nobody else, so that no statement spoils it: this one is on its way out.
  db.enableDefensive(false);
  try {
    return Number(db.prepare(sql).run().changes) > 0;
  } finally {
    db.enableDefensive(true);
  }
}
