// Opens a SQLite file in WAL mode: one writer, readers that never wait for it.

import { DatabaseSync } from 'node:sqlite';

export interface DatabaseOptions {
  /** The file must exist then. */
  readonly readOnly?: boolean;
  /** FULL: a committed transaction survives a power cut. NORMAL: it survives the process. */
  readonly synchronous?: 'FULL' | 'NORMAL';
}

/** ms that a call waits for another's lock, blocking its thread; there is one writer per file, so it is not expected. */
const busyTimeoutMs = 100;
/** The WAL file is cut back to this after a checkpoint. */
const walBytesMax = 64 * 1024 * 1024;
/** Of each connection. */
const cacheKib = 8 * 1024;

/** @throws Error when the file can't be opened */
export function openDatabase(
  path: string,
  { readOnly = false, synchronous = 'FULL' }: DatabaseOptions = {},
): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs });
  try {
    if (!readOnly) db.exec(`PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${walBytesMax}`);
    db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -${cacheKib}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
