// The lock of DATA_DIR, and secrets in files: one holder, one secret, whatever happens.

import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { DataDirLockedError, lockDataDir } from '../../../src/adapters/node/data-dir.ts';
import { readOrCreateSecret } from '../../../src/adapters/node/secrets-file.ts';
import { DamagedFileError } from '../../../src/ports/unfit-file.ts';

let parent: string;
let dir: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'herald-data-'));
  dir = join(parent, 'deep', 'data');
});
afterEach(() => rmSync(parent, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('the lock of a data directory', () => {
  it('makes the directory for its owner alone', () => {
    lockDataDir(dir).release();
    expect(modeOf(dir)).toBe(0o700);
  });

  it('leaves the mode of a directory that is there', () => {
    mkdirSync(dir, { recursive: true });
    const before = modeOf(dir);
    lockDataDir(dir).release();
    expect(modeOf(dir)).toBe(before);
  });

  it('takes the rights of others from the files of the service that are there, and from no other', () => {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    const own = [
      'log.db',
      'log.db-wal',
      'log.db-shm',
      'views.db',
      'views.db-wal',
      'settings.db',
      'settings.db-journal',
    ];
    for (const name of [...own, 'notes.txt', 'my-log.db']) {
      writeFileSync(join(dir, name), '');
      chmodSync(join(dir, name), 0o644);
    }
    const lock = lockDataDir(dir);
    for (const name of [...own, 'lock.db', 'lock.pid']) expect([name, modeOf(join(dir, name))]).toEqual([name, 0o600]);
    for (const name of ['notes.txt', 'my-log.db']) expect([name, modeOf(join(dir, name))]).toEqual([name, 0o644]);
    lock.release();
  });

  it('is held by one, until it is released', () => {
    const lock = lockDataDir(dir);
    expect(() => lockDataDir(dir)).toThrow(DataDirLockedError);
    lock.release();
    lock.release();
    lockDataDir(dir).release();
  });

  it('names the process that holds it, whatever that has collected, and is free when it was killed', async () => {
    const module = new URL('../../../src/adapters/node/data-dir.ts', import.meta.url).href;
    const program = `const { lockDataDir } = await import(${JSON.stringify(module)});
      lockDataDir(${JSON.stringify(dir)}); await new Promise(setImmediate); gc(); await new Promise(setImmediate);
      console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      expect(() => lockDataDir(dir)).toThrow(
        expect.objectContaining({ pid: child.pid, message: expect.stringContaining(`${child.pid}`) }),
      );
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
    lockDataDir(dir).release();
  });
});

describe('a secret file', () => {
  let path: string;
  beforeEach(() => {
    mkdirSync(dir, { recursive: true });
    path = join(dir, 'secret');
  });

  it('is made once, readable by its owner alone, and read from then on', () => {
    expect(readOrCreateSecret(path, () => 'first')).toBe('first');
    expect(readOrCreateSecret(path, () => 'second')).toBe('first');
    expect(modeOf(path)).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['secret']);
  });

  it('made by another in the meantime is the one that counts', () => {
    const secret = readOrCreateSecret(path, () => {
      writeFileSync(path, 'theirs\n');
      return 'ours';
    });
    expect(secret).toBe('theirs');
    expect(readFileSync(path, 'utf8')).toBe('theirs\n');
    expect(readdirSync(dir)).toEqual(['secret']);
  });

  it('that is empty is an error, never a new secret', () => {
    writeFileSync(path, '\n');
    expect(() => readOrCreateSecret(path, () => 'new')).toThrow(DamagedFileError);
  });
});
