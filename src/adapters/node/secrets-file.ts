// A secret that is made once and kept in a file that its owner alone may read.

import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { randomUUID } from 'node:crypto';

import { DamagedFileError } from '../../ports/unfit-file.ts';

/**
 * The file's text; `make` gives it the first time. Of two processes that make it at once both get the one that came first.
 * @throws DamagedFileError when it is empty; Error when it can't be read or written
 */
export function readOrCreateSecret(path: string, make: () => string): string {
  const kept = readSecret(path);
  if (kept !== null) return kept;
  createOnce(path, make());
  const made = readSecret(path);
  if (made === null) throw new Error(`the secret file ${path} was removed while it was made`);
  return made;
}

function readSecret(path: string): string | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
  if (text === '') throw new DamagedFileError('it is empty');
  return text;
}

/** Written whole beside it, then linked: a crash leaves the file whole or not there, and a link never replaces one. */
function createOnce(path: string, secret: string): void {
  const draft = `${path}.${randomUUID()}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, `${secret}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    unlinkSync(draft);
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
