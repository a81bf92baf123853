// Opens a SQLite file in WAL mode: one writer, readers that never wait for it.

import { DatabaseSync } from 'node:sqlite';

import { UnfitFileError } from '../../ports/unfit-file.ts';

export interface DatabaseOptions {
  /** The first table that is made in such a file: one that has others and not this one is of another kind. */
  readonly holds?: string;
  /** The file must exist then. */
  readonly readOnly?: boolean;
  /** FULL: a committed transaction survives a power cut. NORMAL: it survives the process. */
  readonly synchronous?: 'FULL' | 'NORMAL';
  /** Of the page cache; 2 MiB by default, more for a writer of many indexes. */
  readonly cacheKib?: number;
  /** Made so that it can give back what is free in it; a file that is there stays as it was made (`herald compact`). */
  readonly givesBack?: boolean;
  /** WAL pages (4 KiB) after which they are copied into the file. */
  readonly checkpointPages?: number;
}

/** ms that a call waits for another's lock, blocking its thread; there is one writer per file, so it is not expected. */
const busyTimeoutMs = 100;
/** The WAL file is cut back to this after a checkpoint. */
const walBytesMax = 64 * 1024 * 1024;

/** @throws UnfitFileError; Error when the file can't be opened */
export function openDatabase(
  path: string,
  {
    holds,
    readOnly = false,
    synchronous = 'FULL',
    cacheKib = 2 * 1024,
    givesBack = false,
    checkpointPages = 1000,
  }: DatabaseOptions = {},
): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs });
  try {
    if (holds !== undefined) checkKind(db, holds);
    // Before the first table, and before the first page is written.
    if (givesBack) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    // What a row no longer holds its page doesn't either; pages that are free as a whole are overwritten by a scrub (scrub.ts).
    if (!readOnly)
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${walBytesMax}; PRAGMA secure_delete = FAST`);
    db.exec(
      `PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -${cacheKib}; PRAGMA wal_autocheckpoint = ${checkpointPages}`,
    );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkKind(db: DatabaseSync, holds: string): void {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (tables.length === 0 || tables.some(({ name }) => name === holds)) return;
  throw new UnfitFileError('is a database of another kind: put the right file back.');
}
