// The thread of a scrub: each file's free pages are taken, filled with zeros and given back; then its log of writes is copied into it and cut to nothing.

import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

const { paths, withinMs } = workerData as { readonly paths: readonly string[]; readonly withinMs: number };

/** One transaction: 256 KiB, written in a ms or two. */
const pagesPerStep = 64;
/** Between two steps the file is its writer's. */
const restMs = 5;
const busyErrcode = 5;
const sleeping = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const rest = (): void => void Atomics.wait(sleeping, 0, 0, restMs);

for (const path of paths) if (existsSync(path)) scrub(path, performance.now() + withinMs);

function scrub(path: string, until: number): void {
  const db = new DatabaseSync(path, { timeout: 0 });
  const patiently = (step: () => boolean): void => {
    while (!attempted(step)) {
      if (performance.now() > until) throw new Error(`${path} could not be scrubbed: it is always in use`);
      rest();
    }
  };
  try {
    db.exec('PRAGMA secure_delete = FAST; PRAGMA wal_autocheckpoint = 0');
    overwriteFreePages(db, patiently);
    // What is copied while others write is most of it: the last step, for which they wait, is small.
    patiently(() => isWhole(db, 'PASSIVE'));
    patiently(() => isWhole(db, 'TRUNCATE'));
  } finally {
    db.close();
  }
}

function overwriteFreePages(db: DatabaseSync, patiently: (step: () => boolean) => void): void {
  const pageBytes = numberOf(db, 'page_size');
  const free = numberOf(db, 'freelist_count');
  if (free === 0) return;
  const done = (work: () => void) => patiently(() => (work(), true));
  done(() => db.exec('CREATE TABLE IF NOT EXISTS scrub (zeros BLOB NOT NULL)'));
  for (let taken = 0; taken < free; taken += pagesPerStep) {
    done(() => db.prepare('INSERT INTO scrub (zeros) VALUES (zeroblob(?))').run(pagesPerStep * pageBytes));
    rest();
  }
  while (Number(db.prepare('SELECT count(*) AS rows FROM scrub').get()?.['rows']) > 0) {
    done(() => db.exec('DELETE FROM scrub WHERE rowid = (SELECT min(rowid) FROM scrub)'));
    rest();
  }
}

/** Whether nothing of the log of writes was left out. */
function isWhole(db: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): boolean {
  const { busy, log, checkpointed } = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() ?? {};
  return busy === 0 && log === checkpointed;
}

function numberOf(db: DatabaseSync, pragma: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}

/** False: somebody else writes the file at this moment. */
function attempted(step: () => boolean): boolean {
  try {
    return step();
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === busyErrcode) return false;
    throw error;
  }
}
