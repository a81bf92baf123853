// Copies SQLite files as they stand at one moment, while their process goes on writing.
//
// Each file is read inside a transaction that is begun before the first of them is copied: a copy never starts over, however much is committed meanwhile,
// as `.backup` of the sqlite3 shell does at each commit. Nobody waits for it; the writers' WAL files grow until it is done.

import { writeFileSync } from 'node:fs';
import { backup } from 'node:sqlite';

import { openDatabase } from './sqlite.ts';

export interface SnapshotFile {
  readonly from: string;
  /** Must not exist. It becomes one file, without a WAL beside it. */
  readonly to: string;
}

/** 16 MiB at a time. */
const pagesAtATime = 4096;

/** In their order: what a later one says is as new as what the ones before it say, or newer. @throws Error when a file can't be read or written */
export async function snapshotTogether(files: readonly SnapshotFile[]): Promise<void> {
  const sources = files.map(({ from }) => openDatabase(from, { readOnly: true }));
  try {
    // Only reading begins the snapshot.
    for (const db of sources) db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    for (const [i, { to }] of files.entries()) {
      const source = sources[i];
      if (source === undefined) continue;
      // Its owner's alone, from its first byte on.
      writeFileSync(to, '', { mode: 0o600, flag: 'wx' });
      await backup(source, to, { rate: pagesAtATime });
      asOneFile(to);
    }
  } finally {
    for (const db of sources) db.close();
  }
}

/** @throws Error when its pages or indexes aren't sound */
function asOneFile(path: string): void {
  const db = openDatabase(path);
  try {
    db.exec('PRAGMA journal_mode = DELETE');
    const said = String(db.prepare('PRAGMA quick_check').get()?.['quick_check']);
    if (said !== 'ok') throw new Error(`${path} is damaged: ${said}`);
  } finally {
    db.close();
  }
}
