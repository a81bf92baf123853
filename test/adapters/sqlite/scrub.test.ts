// A scrub that waits for whoever writes a file: it is ended by its signal, and the next one has its turn then.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { createScrub } from '../../../src/adapters/sqlite/scrub.ts';

let folder: string;
let db: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-scrub-'));
  db = new DatabaseSync(join(folder, 'file.db'));
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000)); DELETE FROM t');
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

it('one at a time, and none is begun whose signal was aborted while it waited', async () => {
  const scrub = createScrub([join(folder, 'file.db')]);
  const [first, second] = [new AbortController(), new AbortController()];
  db.exec('BEGIN IMMEDIATE');
  const ends: string[] = [];
  const note = (name: string, scrubbed: Promise<void>) =>
    scrubbed.then(
      () => void ends.push(`${name} done`),
      () => void ends.push(`${name} ended`),
    );
  const [, ...others] = [
    note('first', scrub(first.signal)),
    note('second', scrub(second.signal)),
    note('third', scrub(new AbortController().signal)),
  ];
  second.abort();
  first.abort();
  await others[0];
  expect(ends).toEqual(['first ended', 'second ended']);
  db.exec('COMMIT');
  await others[1];
  expect(ends).toEqual(['first ended', 'second ended', 'third done']);
});
