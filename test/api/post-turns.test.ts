import { expect, it } from '@jest/globals';

import { createPostTurns, postsPerTurn } from '../../src/api/post-turns.ts';
import type { TenantId } from '../../src/domain/ids.ts';

const [a, b] = ['tnt_a', 'tnt_b'] as TenantId[] as [TenantId, TenantId];
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Posts by name, and which of them have been begun. */
function world(isShared = true) {
  const postTurns = createPostTurns({ isShared: () => isShared });
  const begun: string[] = [];
  return {
    begun,
    post(tenantId: TenantId, name: string): void {
      const itsTurn = postTurns(tenantId);
      if (itsTurn === null) begun.push(name);
      else void itsTurn.then(() => begun.push(name));
    },
    /** What a turn begins; nothing that it has begun is left in `begun`. */
    async ofTurn(): Promise<readonly string[]> {
      await turn();
      return begun.splice(0);
    },
  };
}

const names = (of: string, count: number, from = 0) => Array.from({ length: count }, (_, i) => `${of}${from + i}`);

it('takes all in at once while nobody else is about', () => {
  const { post, begun } = world(false);
  for (const name of names('a', 50)) post(a, name);
  expect(begun).toEqual(names('a', 50));
});

it('takes a few of a tenant in a turn while another one is about, in their order, and the other’s at once', async () => {
  const { post, begun, ofTurn } = world();
  for (const name of names('a', 3 * postsPerTurn)) post(a, name);
  post(b, 'b0');
  expect(begun.splice(0)).toEqual([...names('a', postsPerTurn), 'b0']);
  expect(await ofTurn()).toEqual(names('a', postsPerTurn, postsPerTurn));
  post(a, 'a behind them');
  post(b, 'b1');
  expect(begun.splice(0)).toEqual(['b1']);
  expect(await ofTurn()).toEqual(names('a', postsPerTurn, 2 * postsPerTurn));
  expect(await ofTurn()).toEqual(['a behind them']);
  // Nobody waits any more: it is as in the beginning.
  await turn();
  post(a, 'a again');
  expect(begun).toEqual(['a again']);
});

it('takes as many in of all who wait together, or one of each', async () => {
  const { post, begun, ofTurn } = world();
  const tenants = Array.from({ length: 10 }, (_, i) => `tnt_${i}` as TenantId);
  for (const tenantId of tenants) for (const name of names(tenantId, 10)) post(tenantId, name);
  begun.splice(0);
  const first = await ofTurn();
  expect(first).toHaveLength(10);
  expect(new Set(first.map((name) => name.slice(0, 'tnt_0'.length))).size).toBe(10);
  for (const tenantId of tenants.slice(2)) post(tenantId, 'one more');
  let turns = 0;
  while ((await ofTurn()).length > 0) turns++;
  expect(turns).toBeLessThan(12);
});

it('begins every one once', async () => {
  const { post, begun } = world();
  const all: string[] = [];
  for (let round = 0; round < 30; round++) {
    const tenantId = `tnt_${round % 3}` as TenantId;
    for (const name of names(`${round}-`, round % 7)) {
      all.push(name);
      post(tenantId, name);
    }
    if (round % 4 === 0) await turn();
  }
  for (let i = 0; i < 100; i++) await turn();
  expect(begun.toSorted()).toEqual(all.toSorted());
});
