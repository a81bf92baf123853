// The SQLite store of idempotency keys: the contract, what a restart leaves of it, and that it doesn't grow.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Reach } from '../../../src/adapters/sqlite/event-log/history.ts';
import type { IdempotencyStoreOptions } from '../../../src/adapters/sqlite/idempotency/store.ts';
import { openIdempotencyStore } from '../../../src/adapters/sqlite/idempotency/store.ts';
import { keyLifetimeMs } from '../../../src/domain/idempotency.ts';
import { acceptingOnceContract } from '../../contracts/accepting-once.ts';
import { idempotencyStoreContract, keyEntry, position } from '../../contracts/idempotency-store.ts';

/** A log that goes on, opened for the n-th time; `reach`: how far it went until then, all of one number. */
function historyOf(id: string, opening = 1, reach = Infinity): IdempotencyStoreOptions['history'] {
  const reached: Reach = new Map([[position.topic, [0, 0, 0, reach]]]);
  return { id, opening: String(opening), reachOf: (earlier) => (Number(earlier) > opening ? null : reached) };
}

async function open() {
  const dir = mkdtempSync(join(tmpdir(), 'herald-keys-'));
  const store = openIdempotencyStore({ path: join(dir, 'idempotency.db'), history: historyOf('log-1') });
  return {
    store,
    other: store,
    async close() {
      await store.close();
      rmSync(dir, { recursive: true });
    },
  };
}

idempotencyStoreContract('SQLite', open);
acceptingOnceContract('SQLite', open);

describe('SQLite: a store of idempotency keys', () => {
  let dir: string;
  const path = () => join(dir, 'idempotency.db');
  const { requestedAt: start } = keyEntry();
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'herald-keys-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('opened again has what was settled, and what its former process had under way is anybody’s at once', async () => {
    const before = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    const settled = keyEntry({ keyHash: 'settled', leaseUntil: null });
    await before.reserve(keyEntry(), start);
    await before.settle(settled);
    await before.close();
    const store = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    expect(await store.find(keyEntry(), start)).toEqual(keyEntry({ leaseUntil: 0 }));
    expect(await store.takeOver(keyEntry({ leaseUntil: 0 }), start + 1)).toBe(true);
    expect(await store.find(settled, start)).toEqual(settled);
    await store.close();
  });

  it('knows the batches of keys from when they are kept on: a file of before has none', async () => {
    const before = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    await before.settle(keyEntry({ leaseUntil: null }));
    await before.close();
    const db = new DatabaseSync(path());
    db.exec('ALTER TABLE keys DROP COLUMN batch_id');
    db.close();
    const store = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    expect(await store.find(keyEntry(), start)).toEqual(keyEntry({ leaseUntil: null, batchId: null }));
    const next = keyEntry({ keyHash: 'hash-2', leaseUntil: null });
    await store.settle(next);
    expect(await store.find(next, start)).toEqual(next);
    await store.close();
  });

  it('says nothing of another log’s notifications', async () => {
    const before = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    await before.settle(keyEntry({ leaseUntil: null }));
    await before.close();
    const store = openIdempotencyStore({ path: path(), history: historyOf('log-2') });
    expect(await store.find(keyEntry(), start)).toBeNull();
    await store.close();
  });

  it('says nothing of what isn’t in the log any more, which was put back from an earlier time, and keeps what is', async () => {
    const keyOf = (n: number) =>
      keyEntry({
        keyHash: `key-${n}`,
        requestedAt: start + n * 1_000,
        leaseUntil: null,
        position: { ...position, offset: n },
      });
    const open = async (opening: number, reach: number) => {
      const store = openIdempotencyStore({ path: path(), history: historyOf('log-1', opening, reach) });
      const found: number[] = [];
      for (let n = 0; n < 200; n++) if ((await store.find(keyOf(n), start)) !== null) found.push(n);
      return { store, found };
    };
    const { store } = await open(1, 0);
    for (let n = 0; n < 200; n++) await store.settle(keyOf(n));
    await store.close();
    // Taken while it was open: the log knows that opening.
    const { store: after, found } = await open(2, 120);
    expect(found).toEqual(Array.from({ length: 120 }, (_, n) => n));
    await after.close();
    // A log that never saw the last opening: what is kept is looked for in the records.
    const { store: again, found: none } = await open(1, 120);
    expect(none).toEqual([]);
    await again.close();
  });

  it('so it is whenever a key was taken: yesterday, again in another order, or hours before by a process that ended', async () => {
    const settledAt = (keyHash: string, requestedAt: number, offset: number) =>
      keyEntry({ keyHash, requestedAt, leaseUntil: null, position: { ...position, offset } });
    const again = start + keyLifetimeMs + 60_000;
    const nightly = Array.from({ length: 50 }, (_, n) => `nightly ${n}`);
    const ended = keyEntry({ keyHash: 'ended', requestedAt: start + 100 });
    const before = openIdempotencyStore({ path: path(), history: historyOf('log-1', 1) });
    const use = async (entry: ReturnType<typeof keyEntry>) => {
      const taken = { ...entry, leaseUntil: entry.requestedAt + 30_000, position: null };
      expect(await before.reserve(taken, entry.requestedAt)).toBeNull();
      await before.settle(entry);
    };
    for (const [n, keyHash] of nightly.entries()) await use(settledAt(keyHash, start + n, n));
    await before.reserve(ended, start + 100);
    for (let hour = 1; hour < 20; hour++) await use(settledAt(`hour ${hour}`, start + hour * 3_600_000, 50 + hour));
    expect(await before.takeOver(ended, again)).toBe(true);
    await before.settle({ ...ended, leaseUntil: null, position: { ...position, offset: 100 } });
    for (const [n, keyHash] of nightly.toReversed().entries()) await use(settledAt(keyHash, again + n, 101 + n));
    await before.close();
    const after = openIdempotencyStore({ path: path(), history: historyOf('log-1', 2, 100) });
    expect(await after.find(ended, start + 200)).toBeNull();
    for (const keyHash of nightly) expect(await after.find(keyEntry({ keyHash }), again)).toBeNull();
    expect(await after.find(keyEntry({ keyHash: 'hour 19' }), start)).not.toBeNull();
    await after.close();
  });

  it('keeps no more keys than those of the last 24 h', async () => {
    const store = openIdempotencyStore({ path: path(), history: historyOf('log-1') });
    for (let i = 0; i < 500; i++) await store.reserve(keyEntry({ keyHash: `old-${i}` }), start);
    const later = start + keyLifetimeMs;
    for (let i = 0; i < 20; i++) await store.reserve(keyEntry({ keyHash: `new-${i}`, requestedAt: later }), later);
    await store.close();
    const db = new DatabaseSync(path(), { readOnly: true });
    expect(db.prepare('SELECT count(*) AS keys FROM keys').get()).toEqual({ keys: 20 });
    db.close();
  });
});
