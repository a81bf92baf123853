// The SQLite store of idempotency keys: the contract, what a restart leaves of it, and that it doesn't grow.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openIdempotencyStore } from '../../../src/adapters/sqlite/idempotency/store.ts';
import { keyLifetimeMs } from '../../../src/domain/idempotency.ts';
import { acceptingOnceContract } from '../../contracts/accepting-once.ts';
import { idempotencyStoreContract, keyEntry } from '../../contracts/idempotency-store.ts';

async function open() {
  const dir = mkdtempSync(join(tmpdir(), 'herald-keys-'));
  const store = openIdempotencyStore({ path: join(dir, 'idempotency.db'), logId: 'log-1' });
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
    const before = openIdempotencyStore({ path: path(), logId: 'log-1' });
    const settled = keyEntry({ keyHash: 'settled', leaseUntil: null });
    await before.reserve(keyEntry(), start);
    await before.settle(settled);
    await before.close();
    const store = openIdempotencyStore({ path: path(), logId: 'log-1' });
    expect(await store.find(keyEntry(), start)).toEqual(keyEntry({ leaseUntil: 0 }));
    expect(await store.takeOver(keyEntry({ leaseUntil: 0 }), start + 1)).toBe(true);
    expect(await store.find(settled, start)).toEqual(settled);
    await store.close();
  });

  it('says nothing of another log’s notifications', async () => {
    const before = openIdempotencyStore({ path: path(), logId: 'log-1' });
    await before.settle(keyEntry({ leaseUntil: null }));
    await before.close();
    const store = openIdempotencyStore({ path: path(), logId: 'log-2' });
    expect(await store.find(keyEntry(), start)).toBeNull();
    await store.close();
  });

  it('keeps no more keys than those of the last 24 h', async () => {
    const store = openIdempotencyStore({ path: path(), logId: 'log-1' });
    for (let i = 0; i < 500; i++) await store.reserve(keyEntry({ keyHash: `old-${i}` }), start);
    const later = start + keyLifetimeMs;
    for (let i = 0; i < 20; i++) await store.reserve(keyEntry({ keyHash: `new-${i}`, requestedAt: later }), later);
    await store.close();
    const db = new DatabaseSync(path(), { readOnly: true });
    expect(db.prepare('SELECT count(*) AS keys FROM keys').get()).toEqual({ keys: 20 });
    db.close();
  });
});
