// How much of views.db waits in its write-ahead file: little while little comes at a time, since whoever copies much of it holds up the disk.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import type { Write } from '../../../src/ports/read-model-store.ts';
import { letters } from '../../contracts/read-model-store.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger as logger } from './silent-logger.ts';

const mebibyte = 1024 * 1024;
const documents = 6000;

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-views-'));
  path = join(dir, 'views.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the write-ahead file of views.db', () => {
  it('is copied into it 4 MiB at a time where batches are small', async () => {
    expect(await walBytesAfter({ batch: 20 })).toBeLessThan(6 * mebibyte);
  });

  it('is copied 32 MiB at a time where they are large: of somebody who catches up', async () => {
    const bytes = await walBytesAfter({ batch: 500 });
    expect(bytes).toBeGreaterThan(8 * mebibyte);
    expect(bytes).toBeLessThan(40 * mebibyte);
  });

  it('is copied at the next small batch, however much a large one has left', async () => {
    const store = openReadModelStore({ path, clock: wallClock, logger });
    await store.prepare(letters);
    let owner = await store.own('letters', 0, { generation: 1 });
    for (let from = 0; from < documents; from += 500)
      owner = await store.transact(owner, new Map(), lettersFrom(from, 500));
    owner = await store.transact(owner, new Map(), lettersFrom(0, 20));
    // What was copied is written over from the file's beginning on, which stays as long as it was.
    const { size } = statSync(`${path}-wal`);
    for (let from = 0; from < documents; from += 500)
      owner = await store.transact(owner, new Map(), lettersFrom(from, 20));
    expect(statSync(`${path}-wal`).size).toBe(size);
    await store.close();
  });
});

/** At its longest: the file keeps its length while it is written over. */
async function walBytesAfter({ batch }: { readonly batch: number }): Promise<number> {
  const store = openReadModelStore({ path, clock: wallClock, logger });
  await store.prepare(letters);
  let owner = await store.own('letters', 0, { generation: 1 });
  for (let from = 0; from < documents; from += batch)
    owner = await store.transact(owner, new Map(), lettersFrom(from, batch));
  const { size } = statSync(`${path}-wal`);
  await store.close();
  return size;
}

/** Some 1.5 pages of 4 KiB each. */
function lettersFrom(from: number, count: number): Write[] {
  return Array.from({ length: count }, (_, n): Write => {
    const at = from + n;
    const document = { tenant: 'a', at, status: 'new', tag: null, text: 'x'.repeat(4000), labels: [] };
    return { collection: 'letters', id: `letter-${at}`, document };
  });
}
