// Turns on a shared thread: each ends after its few ms, and those who wait go on one in a turn of the event loop, in their order.

import { expect, it } from '@jest/globals';

import { createMetrics } from '../../../src/adapters/node/metrics.ts';
import { createTenantTime } from '../../../src/adapters/node/tenant-time.ts';
import { createThreadTurns } from '../../../src/adapters/node/thread-turns.ts';
import type { TenantId } from '../../../src/domain/ids.ts';

const metrics = createMetrics({ processMetrics: false });
const loopTurn = () => new Promise((resolve) => setImmediate(resolve));
const hold = (ms: number) => () => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

it('a turn is over after some ms of work, whoever asks, and begins anew with the next turn of the event loop', async () => {
  const turns = createThreadTurns(metrics);
  const startedAt = performance.now();
  expect(turns.isOver()).toBe(false);
  while (!turns.isOver());
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4);
  expect(turns.isOver()).toBe(true);
  await loopTurn();
  await loopTurn();
  const pieces: boolean[] = [];
  // A machine may stand still between two looks.
  for (let i = 0; i < 100 && !pieces.includes(false); i++) {
    pieces.push(turns.isOver());
    await loopTurn();
  }
  expect(pieces).toContain(false);
});

it('those who wait go on one in a turn, in the order in which they came, and everybody else has turns between them', async () => {
  const turns = createThreadTurns(metrics);
  const order: string[] = [];
  let loop = 0;
  let isDone = false;
  const count = (): void => {
    loop++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const work = async (name: string) => {
    for (let i = 0; i < 3; i++) {
      await turns.next();
      order.push(`${name}${i}`);
    }
  };
  const before = loop;
  await Promise.all([work('a'), work('b'), work('c')]);
  isDone = true;
  expect(order).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  expect(loop - before).toBeGreaterThanOrEqual(8);
});

it('however many wait for one tenant, another waits for one of them', async () => {
  const turns = createThreadTurns(metrics);
  const order: string[] = [];
  const waitAs = (tenant: string, name: string) =>
    turns.as(tenant as TenantId, () => turns.next().then(() => order.push(name)));
  const crowd = Array.from({ length: 20 }, (_, i) => waitAs('tnt_a', `a${i}`));
  await Promise.all([...crowd, waitAs('tnt_b', 'b0'), waitAs('tnt_b', 'b1')]);
  expect(order.slice(0, 5)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2']);
  expect(order.slice(5)).toEqual(Array.from({ length: 17 }, (_, i) => `a${i + 3}`));
});

it('after a turn the thread rests as long as the turn took, before whoever waits goes on', async () => {
  const turns = createThreadTurns(metrics);
  const rests: [held: number, rested: number][] = [];
  await turns.as('tnt_a' as TenantId, async () => {
    turns.piece(hold(30));
    turns.isOver();
    for (let i = 0; i < 5; i++) {
      const startedAt = performance.now();
      turns.piece(hold(10));
      const endedAt = performance.now();
      await turns.next();
      rests.push([endedAt - startedAt, performance.now() - endedAt]);
    }
  });
  // A timer may be early by a part of a ms; late it may be on any machine.
  for (const [held, rested] of rests) expect(rested).toBeGreaterThan(Math.min(held, 50) - 2);
});

it('the rest is longer by what is said to follow from a piece', async () => {
  const turns = createThreadTurns(metrics);
  const restedMs = await turns.as('tnt_a' as TenantId, async () => {
    turns.charge(25);
    turns.isOver();
    turns.charge(40);
    const since = performance.now();
    await turns.next();
    return performance.now() - since;
  });
  expect(restedMs).toBeGreaterThan(38);
});

it('a tenant that has held the thread but little waits for no turn, whoever has had it, and for its own once it has held it longer', () => {
  const turns = createThreadTurns(metrics);
  const isOverFor = (tenant: string) => turns.as(tenant as TenantId, turns.isOver);
  isOverFor('tnt_a');
  turns.as('tnt_a' as TenantId, () => turns.piece(hold(100)));
  turns.isOver();
  turns.piece(hold(10));
  expect(isOverFor('tnt_a')).toBe(true);
  expect(isOverFor('tnt_b')).toBe(false);
  turns.as('tnt_b' as TenantId, () => turns.piece(hold(100)));
  expect(isOverFor('tnt_b')).toBe(true);
});

it('bulk work makes the thread a shared one for nobody, and what is done beside it does', () => {
  const turns = createThreadTurns(metrics);
  const piece = (tenant: string, isBulk: boolean) =>
    turns.as(tenant as TenantId, () => turns.piece(() => undefined), isBulk);
  piece('tnt_a', true);
  piece('tnt_b', true);
  expect(['tnt_a', 'tnt_b', 'tnt_c'].map((tenant) => turns.isShared(tenant as TenantId))).toEqual([
    false,
    false,
    false,
  ]);
  piece('tnt_b', false);
  piece('tnt_a', true);
  expect(['tnt_a', 'tnt_b', 'tnt_c'].map((tenant) => turns.isShared(tenant as TenantId))).toEqual([true, false, true]);
});

it('a piece of a tenant that has held it but little ends as well', () => {
  const turns = createThreadTurns(metrics);
  let looks = 0;
  turns.as('tnt_a' as TenantId, () =>
    turns.piece(() => {
      while (!turns.isOver()) looks++;
    }),
  );
  expect(looks).toBeGreaterThan(0);
});

it('what is spent on a work is what it took, without its waits for the turns of others', async () => {
  const turns = createThreadTurns(metrics);
  const others = turns.as('tnt_b' as TenantId, async () => {
    for (let i = 0; i < 10; i++) {
      await turns.next();
      turns.piece(hold(50));
    }
  });
  const startedAt = performance.now();
  const spent = await turns.spent('tnt_a' as TenantId, async () => {
    for (let i = 0; i < 5; i++) {
      await turns.next();
      turns.piece(hold(2));
    }
  });
  const tookMs = performance.now() - startedAt;
  await others;
  expect(spent).toBeGreaterThanOrEqual(9);
  // Four waits at least were for another's 50 ms; a machine may stand still in what is its own.
  expect(tookMs - spent).toBeGreaterThanOrEqual(4 * 49);
});

it('what pieces take is counted for the tenant whose work they are, also after waits, and what is nobody’s for none', async () => {
  const own = createMetrics({ processMetrics: false });
  const turns = createThreadTurns(own);
  await turns.as('tnt_a' as TenantId, async () => {
    turns.piece(hold(5));
    await turns.next();
    turns.piece(hold(5));
  });
  turns.as('tnt_b' as TenantId, () => expect(() => turns.piece(() => failing())).toThrow('no'));
  turns.piece(hold(5));
  const page = await own.read();
  const seconds = (tenant: string) =>
    Number(new RegExp(`herald_tenant_busy_seconds\\{tenant="${tenant}"\\} (\\S+)`).exec(page)?.[1]);
  expect(seconds('tnt_a')).toBeGreaterThanOrEqual(0.01);
  expect(seconds('tnt_b')).toBeGreaterThanOrEqual(0);
  expect(page.match(/^herald_tenant_busy_seconds/gm)).toHaveLength(2);
});

function failing(): never {
  throw new Error('no');
}

it('twenty tenants are shown, those who held the thread most of late, with all that they ever took', () => {
  let now = 0;
  const time = createTenantTime(() => now);
  const tenant = (i: number) => `tnt_${i}` as TenantId;
  for (let i = 0; i < 30; i++) time.add(tenant(i), 100_000 + i, now);
  now = 20 * 60_000;
  time.add(tenant(0), 1000, now);
  time.add(tenant(99), 500, now);
  const top = time.top();
  expect(top).toHaveLength(20);
  expect(top.slice(0, 3)).toEqual([
    [tenant(0), 101],
    [tenant(99), 0.5],
    [tenant(29), 100.029],
  ]);
});
