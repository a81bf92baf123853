// A file of DATA_DIR that can't be used, told as one sentence: which one, what is wrong with it, and what a person may do.

import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { DamagedFileError, UnfitFileError } from '../ports/unfit-file.ts';
import type { Config } from './config.ts';
import { dataFiles } from './data-files.ts';
import { StartError } from './start-error.ts';

/** What may be done about a file that is damaged. */
const remedies = {
  folder: 'Name a folder of its own by DATA_DIR.',
  target: 'Name a folder of its own.',
  log: 'It holds all that happened and must not be deleted: put it back from its backup, and remove its -wal and -shm files.',
  views: 'It may be deleted, with its -wal and -shm files: the service folds it anew from the log.',
  settings:
    'It holds the tenants and their keys and must not be deleted: put it back from its backup, and remove its -wal and -shm files.',
  idempotency:
    'It may be deleted, with its -wal and -shm files: what it says of the last 24 h is found again in the records.',
  jobs: 'It may be deleted, with its -wal and -shm files: jobs that are under way end where they are.',
  lock: 'It may be deleted while no process of Herald runs on the folder.',
  secret: 'It opens the settings and must not be deleted: put it back from its backup.',
  issuerKey: 'It may be deleted: another one is made, and the tokens of before end.',
} as const;

export type DataFile = keyof typeof remedies;

/** With something in it: an empty one holds no more than one that isn't there. */
export function isThere(path: string): boolean {
  return [path, `${path}-wal`].some((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** Of what works on a log that is there. @throws StartError where there is none: nothing is made then, neither the folder nor a lock in it */
export function logThereIn({ DATA_DIR: dataDir }: Pick<Config, 'DATA_DIR'>): string {
  const { log, settings, views } = dataFiles(dataDir);
  if (isThere(log)) return log;
  for (const other of [settings, views]) if (isThere(other)) refuseMissing(log, other);
  throw new StartError(`DATA_DIR: ${dataDir} holds no log (log.db).`);
}

/** @throws StartError about a file that isn't there though another says that it should be */
export function refuseMissing(missing: string, because: string): never {
  throw new StartError(
    `${missing} is not there, and ${because} says that it was: put it back from its backup. To begin with an empty one in its place, run "herald adopt".`,
  );
}

/** The sentence about a file whose pages SQLite can't read as what they should be; null for any other error. */
export function damageOf(path: string, file: DataFile, error: unknown): string | null {
  if (!(error instanceof Error) || !(codeOf(error) === sqlite.corrupt || codeOf(error) === sqlite.notADatabase))
    return null;
  return `${path} ${damaged(error, file)}`;
}

/** What `open` resolves with. @throws StartError in place of what the file, its folder or its disk is to blame for */
export async function openOrExplain<T>(path: string, file: DataFile, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    // One beside it, where the error names it.
    const at = error instanceof Error && 'path' in error ? String(error.path) : path;
    const why = whatIsWrong(at, file, error);
    throw why === null ? error : new StartError(`${at} ${why}`);
  }
}

/** sqlite.org/rescode.html */
const sqlite = { readOnly: 8, ioError: 10, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26 } as const;

function whatIsWrong(path: string, file: DataFile, error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof UnfitFileError) return error.message;
  if (error instanceof DamagedFileError) return damaged(error, file);
  switch (codeOf(error)) {
    case sqlite.corrupt:
    case sqlite.notADatabase:
      return damaged(error, file);
    case sqlite.cantOpen:
    case sqlite.readOnly:
    case 'EISDIR':
    case 'EACCES':
    case 'EPERM':
      return whyNotOpened(path, file, error);
    case 'EEXIST':
    case 'ENOTDIR':
      return `is not a folder. ${remedies[file]}`;
    case sqlite.full:
    case 'ENOSPC':
      return fullDisk;
    case sqlite.ioError:
    case 'EIO':
      // Where a map of the file beside it finds no room SQLite says no more than this.
      if (isFull(path)) return fullDisk;
      return `can not be read or written: the disk fails (${error.message}).`;
    default:
      return null;
  }
}

const fullDisk = 'can not be written, since the disk is full: make room.';
/** Less than what SQLite keeps beside a file to begin with. */
const roomMinBytes = 64 * 1024;

function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < roomMinBytes;
  } catch {
    return false;
  }
}

/** SQLite's, or the system's. */
function codeOf(error: Error): unknown {
  const code = 'code' in error ? error.code : null;
  return code === 'ERR_SQLITE_ERROR' && 'errcode' in error ? Number(error.errcode) & 0xff : code;
}

function damaged({ message }: Error, file: DataFile): string {
  return `is damaged (${message}). ${remedies[file]}`;
}

function whyNotOpened(path: string, file: DataFile, error: Error): string {
  try {
    if (statSync(path).isDirectory()) return `is a folder where a file should be. ${remedies[file]}`;
    accessSync(path, constants.R_OK | constants.W_OK);
    return `can't be opened (${error.message}).`;
  } catch {
    return "can't be read and written by this process: give it to the user that Herald runs as.";
  }
}
