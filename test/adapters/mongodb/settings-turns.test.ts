// The turns of writes to the settings store: one at a time, tenant after tenant, and no tenant takes all places.

import { expect, it } from '@jest/globals';
import { MongoNetworkError } from 'mongodb';

import { createTurns } from '../../../src/adapters/mongodb/settings/turns.ts';
import type { TenantId } from '../../../src/domain/ids.ts';

const [a, b] = ['tnt_a', 'tnt_b'] as [TenantId, TenantId];

/** Writes that last until they are ended, one after another. */
function gated() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    write: (name: string) => () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        ends.push(resolve);
      }),
    async end() {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

it('tenants take turns: one change comes after the one that runs, however many another tenant has waiting', async () => {
  const takeTurn = createTurns();
  const { begun, write, end } = gated();
  const all = [1, 2, 3, 4].map((n) => takeTurn(a, write(`a${n}`)));
  all.push(takeTurn(b, write('b1')));
  for (let i = 0; i < 5; i++) await end();
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

it('a tenant has fifty places, and the others have theirs', async () => {
  const takeTurn = createTurns();
  const { begun, write, end } = gated();
  const places = Array.from({ length: 51 }, (_, n) => takeTurn(a, write(`a${n}`)));
  await expect(takeTurn(a, write('a51'))).rejects.toThrow("50 changes of this tenant's settings wait already");
  const other = takeTurn(b, write('b'));
  for (let i = 0; i < 52; i++) await end();
  await Promise.all([...places, other]);
  expect(begun).toHaveLength(52);
  expect(begun).toContain('b');
});

it('a server that is away is told to all that wait, and the next one tries again', async () => {
  const takeTurn = createTurns();
  const away = () => Promise.reject(new MongoNetworkError('away'));
  const results = await Promise.allSettled([takeTurn(a, away), takeTurn(a, away), takeTurn(b, away)]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await takeTurn(b, () => Promise.resolve('written'))).toBe('written');
});
