// An operator's share holds from a tenant's first attempt on; a store that is away holds nobody up.

import { expect, it } from '@jest/globals';

import { nextTurn } from '../../src/dispatchers/next-turn.ts';
import { createTenantShares } from '../../src/dispatchers/tenant-shares.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { ordinaryShare } from '../../src/domain/tenant.ts';
import type { TenantShare } from '../../src/domain/tenant.ts';

const [anna, bob] = ['anna', 'bob'] as [TenantId, TenantId];

function sharesOf(share: (tenantId: TenantId) => Promise<TenantShare>) {
  const told: TenantId[] = [];
  const silent: (() => void)[] = [];
  const clock = {
    now: 0,
    monotonic: () => clock.now,
    sleep: (ms: number) => new Promise<void>((resolve) => silent.push(() => ((clock.now += ms), resolve()))),
    /** So long that nobody waits for the answers any more. */
    passSilence: () => {
      for (const one of silent.splice(0)) one();
      return nextTurn();
    },
  };
  const shares = createTenantShares({ directory: { share }, clock });
  shares.onHeard((tenantId) => told.push(tenantId));
  return { clock, shares, told };
}

it('a tenant has nothing in flight until its share was heard, which is told to whoever waited', async () => {
  const { clock, shares, told } = sharesOf(async () => ({ weight: 3, inFlightMax: 1 }));
  expect(shares.of(anna).inFlightMax).toBe(0);
  await nextTurn();
  expect(shares.of(anna)).toEqual({ weight: 3, inFlightMax: 1 });
  clock.now += 1_000;
  shares.of(anna);
  await nextTurn();
  expect(told).toEqual([anna]);
});

it('where it can’t be had everybody’s holds, and later what was heard last', async () => {
  let isAway = true;
  const { clock, shares, told } = sharesOf(async (tenantId) => {
    if (isAway || tenantId === bob) throw new Error('away');
    return { weight: 1, inFlightMax: 7 };
  });
  const look = async () => {
    for (const tenantId of [anna, bob]) shares.of(tenantId);
    await nextTurn();
    return [anna, bob].map((tenantId) => shares.of(tenantId).inFlightMax);
  };
  expect(await look()).toEqual([ordinaryShare.inFlightMax, ordinaryShare.inFlightMax]);
  isAway = false;
  clock.now += 1_000;
  expect(await look()).toEqual([7, null]);
  isAway = true;
  clock.now += 1_000;
  expect(await look()).toEqual([7, null]);
  // Whoever waited for it goes on, each time.
  for (const tenantId of [anna, bob]) expect(told.filter((one) => one === tenantId).length).toBeGreaterThan(1);
});

it('a cap that was set while its tenant was quiet holds from its next attempt on', async () => {
  let inFlightMax = 32;
  const { clock, shares, told } = sharesOf(async () => ({ weight: 3, inFlightMax }));
  shares.of(anna);
  await nextTurn();
  inFlightMax = 1;
  clock.now += 3_600_000;
  // Its turn goes on by its weight.
  expect(shares.of(anna)).toEqual({ weight: 3, inFlightMax: 0 });
  expect(told).toEqual([anna]);
  await nextTurn();
  expect(shares.of(anna).inFlightMax).toBe(1);
  expect(told).toEqual([anna, anna]);
});

it('whoever has turns waits for none: its share is asked for each second', async () => {
  let asked = 0;
  const { clock, shares } = sharesOf(async () => {
    asked++;
    return ordinaryShare;
  });
  const unheard: number[] = [];
  for (clock.now = 0; clock.now < 60_000; clock.now += 100) {
    if (shares.of(anna).inFlightMax === 0) unheard.push(clock.now);
    await nextTurn();
  }
  expect(unheard).toEqual([0]);
  expect(asked).toBe(60);
});

it('a cap that couldn’t be had holds once it can: who was sent without it for a moment waits for the next answer', async () => {
  let isAway = true;
  const { clock, shares, told } = sharesOf(async () => {
    if (isAway) throw new Error('away');
    return { weight: 1, inFlightMax: 1 };
  });
  shares.of(anna);
  await nextTurn();
  expect(shares.of(anna)).toEqual(ordinaryShare);
  isAway = false;
  clock.now += 1_000;
  expect(shares.of(anna).inFlightMax).toBe(0);
  await nextTurn();
  expect(shares.of(anna).inFlightMax).toBe(1);
  expect(told).toEqual([anna, anna]);
});

it('an answer that doesn’t come is waited for for a moment, and taken whenever it comes', async () => {
  const answers: ((share: TenantShare) => void)[] = [];
  const { clock, shares, told } = sharesOf(() => new Promise((resolve) => answers.push(resolve)));
  expect(shares.of(anna).inFlightMax).toBe(0);
  await clock.passSilence();
  expect(told).toEqual([anna]);
  clock.now += 60_000;
  expect(shares.of(anna)).toEqual(ordinaryShare);
  expect(answers).toHaveLength(1);
  for (const answer of answers) answer({ weight: 1, inFlightMax: 1 });
  await nextTurn();
  expect(shares.of(anna).inFlightMax).toBe(1);
});

it('settings that say after seconds only that they are away are waited for for a moment each time', async () => {
  const refuse: ((err: Error) => void)[] = [];
  const { clock, shares } = sharesOf(() => new Promise((_, reject) => refuse.push(reject)));
  for (let times = 0; times < 3; times++) {
    expect(shares.of(anna).inFlightMax).toBe(0);
    await clock.passSilence();
    clock.now += 2_700;
    expect(shares.of(anna)).toEqual(ordinaryShare);
    for (const one of refuse.splice(0)) one(new Error('away'));
    await nextTurn();
    expect(shares.of(anna)).toEqual(ordinaryShare);
    clock.now += 200;
  }
});

it('is asked for again by itself where more than 12,000 tenants were met since: the others keep theirs', async () => {
  const { shares } = sharesOf(async () => ordinaryShare);
  const tenants = Array.from({ length: 12_001 }, (_, i) => `tnt_${i}` as TenantId);
  for (const tenantId of tenants) shares.of(tenantId);
  await nextTurn();
  const unheard = tenants.slice(1).filter((tenantId) => shares.of(tenantId).inFlightMax === 0);
  expect(unheard).toEqual([]);
});
