// DATA_DIR and the one process that holds it: a lock that the system lets go of however the process ends.

import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export class DataDirLockedError extends Error {
  /** The holder's process id; null when it couldn't be read. */
  readonly pid: number | null;

  constructor(dir: string, pid: number | null) {
    super(`${dir} is in use by ${pid === null ? 'another process' : `the process ${pid}`}: stop it first`);
    this.name = 'DataDirLockedError';
    this.pid = pid;
  }
}

export interface DataDirLock {
  release(): void;
}

export const lockFile = 'lock.db';
const pidFile = 'lock.pid';
const ownerOnly = 0o700;
const ownerFile = 0o600;

/** What this process holds: a connection that nothing points to is collected, and its lock let go of. */
const held = new Set<DatabaseSync>();

/** Makes the directory when it isn't there, for its owner alone, and takes it. @throws DataDirLockedError; Error when it can't be written */
export function lockDataDir(dir: string): DataDirLock {
  makeDataDir(dir);
  // SQLite's lock on a file is portable, is let go of when the process is killed, and says so at once when another
  // holds it.
  const db = new DatabaseSync(join(dir, lockFile), { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    throw isBusy(error) ? new DataDirLockedError(dir, pidIn(dir)) : error;
  }
  writeFileSync(join(dir, pidFile), `${process.pid}\n`, { mode: 0o600 });
  closeToOthers(dir);
  held.add(db);
  return {
    release() {
      if (!db.isOpen) return;
      rmSync(join(dir, pidFile), { force: true });
      held.delete(db);
      db.close();
    },
  };
}

/** A directory that is there already keeps its mode: it may be a mounted volume. */
export function makeDataDir(dir: string): void {
  const made = mkdirSync(dir, { recursive: true, mode: ownerOnly });
  if (made !== undefined) chmodSync(dir, ownerOnly);
}

/** Whether the group or others can read or write the file. Windows has other rights. */
export function isOpenToOthers(path: string): boolean {
  if (process.platform === 'win32') return false;
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && (found.mode & othersBits) !== 0;
}

const othersBits = 0o077;
const ownFiles = /^(?:(?:log|views|settings|idempotency|jobs|lock)\.db(?:-wal|-shm|-journal)?|lock\.pid)$/;

/** What is in there from a time, or a backup, that made files for all to read. What SQLite makes beside a file later has the file's mode. */
function closeToOthers(dir: string): void {
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (!ownFiles.test(name) || !isOpenToOthers(path)) continue;
    try {
      chmodSync(path, ownerFile);
    } catch {
      // A volume without modes, or somebody else's file: it is as open as who mounted it wants.
    }
  }
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === sqliteBusy;
}

function pidIn(dir: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(join(dir, pidFile), 'utf8'), 10);
    return Number.isNaN(pid) ? null : pid;
  } catch {
    return null;
  }
}
