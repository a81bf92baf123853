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
  const clock = { now: 0, monotonic: () => clock.now };
  const shares = createTenantShares({ directory: { share }, clock });
  shares.onHeard((tenantId) => told.push(tenantId));
  return { clock, shares, told };
}

it('a tenant has nothing in flight until its share was heard, which is told once', async () => {
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
  expect(told).toEqual([anna, bob]);
});

it('is asked for again by itself where more than 12,000 tenants were met since: the others keep theirs', async () => {
  const { shares } = sharesOf(async () => ordinaryShare);
  const tenants = Array.from({ length: 12_001 }, (_, i) => `tnt_${i}` as TenantId);
  for (const tenantId of tenants) shares.of(tenantId);
  await nextTurn();
  const unheard = tenants.slice(1).filter((tenantId) => shares.of(tenantId).inFlightMax === 0);
  expect(unheard).toEqual([]);
});
