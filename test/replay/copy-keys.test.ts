// The copy of keys from one store into another: those that hold, and of what the log has.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { openIdempotencyStore, openKeysBeside } from '../../src/adapters/sqlite/idempotency/store.ts';
import { keyLifetimeMs } from '../../src/domain/idempotency.ts';
import type { IdempotencyStore, KeyEntry } from '../../src/ports/idempotency-store.ts';
import { copyKeys } from '../../src/replay/copy-keys.ts';
import { keyEntry, position } from '../contracts/idempotency-store.ts';

const { requestedAt: start } = keyEntry();
const end = 10_000;
const reach = new Map([[position.topic, Array.from({ length: 12 }, () => Infinity)]]);
const history = { id: 'log', opening: 'first', reachOf: () => reach };
const ends = new Map([[position.topic, Array.from({ length: 12 }, () => end)]]);

let folder: string;
let target: IdempotencyStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-copy-'));
  target = openIdempotencyStore({ path: join(folder, 'target.db'), history });
});
afterEach(async () => {
  await target.close();
  rmSync(folder, { recursive: true });
});

const settled = (n: number, of: Partial<KeyEntry> = {}): KeyEntry =>
  keyEntry({ keyHash: `key-${n}`, leaseUntil: null, position: { ...position, offset: n }, ...of });

async function copied(entries: readonly KeyEntry[], { id = 'log', now = start + 1 } = {}): Promise<number> {
  const path = join(folder, 'idempotency.db');
  const source = openIdempotencyStore({ path, history });
  for (const entry of entries) await source.settle(entry);
  await source.close();
  const beside = openKeysBeside({ path }, { id, ends });
  try {
    return await copyKeys({ source: beside.pages(now), target });
  } finally {
    beside.close();
  }
}

it('has every key that holds, however many there are, also when it is made once more', async () => {
  const entries = Array.from({ length: 1_300 }, (_, n) => settled(n));
  expect(await copied(entries)).toBe(1_300);
  expect(await copied([])).toBe(1_300);
  for (const entry of entries) expect(await target.find(entry, start + 1)).toEqual(entry);
});

it('has what was under way when its process ended, under the lease of nobody', async () => {
  const underWay = keyEntry({ keyHash: 'under way', leaseUntil: start + 30_000, position: null });
  await copied([underWay]);
  expect(await target.find(underWay, start + 1)).toEqual({ ...underWay, leaseUntil: 0 });
});

it('has none that is over, none of another log, and none of what the log does not have', async () => {
  expect(await copied([settled(1)], { now: start + keyLifetimeMs })).toBe(0);
  expect(await copied([settled(2)], { id: 'another log' })).toBe(0);
  expect(await copied([settled(end - 1), settled(end)])).toBe(3);
  expect(await target.find(settled(end), start + 1)).toBeNull();
});
