// What comes back from the scheduler over all tenants: so much a second, however much it is, with room for those that have little.

import { beforeEach, expect, it } from '@jest/globals';

import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import type { ComingBack } from '../../src/dispatchers/coming-back.ts';
import type { Priority } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const [anna, bob] = ['tnt_anna', 'tnt_bob'] as [TenantId, TenantId];
const tenants = Array.from({ length: 100 }, (_, i) => `tnt_${i}` as TenantId);

let now = 0;
let comingBack: ComingBack;
beforeEach(() => {
  now = 5_000_000;
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  comingBack = createComingBack({ clock: { monotonic: () => now, random } });
});

function busiestSecond(places: readonly number[]): number {
  const bySecond = new Map<number, number>();
  for (const place of places) {
    const second = Math.floor(place / 1_000);
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  }
  return Math.max(...bySecond.values());
}

/** So many of each, in turns; wanted from now on. */
function placed(
  of: readonly TenantId[],
  each: number,
  wanted: number,
  latest = now + hourMs,
  priority: Priority = 'DEFAULT',
) {
  const span = { from: now, wanted, latest };
  return Array.from({ length: each }, () =>
    of.map((tenantId) => comingBack.place({ tenantId, priority }, span)),
  ).flat();
}

function placeOf(tenantId: TenantId, wanted: number, latest = now + hourMs): number {
  return placed([tenantId], 1, wanted, latest)[0] ?? NaN;
}

it('whoever finds room in a second has it when it is wanted', () => {
  expect(placeOf(anna, now + 12_345)).toBe(now + 12_345);
});

it('200 come back in a second at most, wanted at once or not, and never before they are wanted', () => {
  const wanted = now + minuteMs;
  const places = placed(tenants, 50, wanted);
  expect(busiestSecond(places)).toBeLessThanOrEqual(200);
  expect(Math.min(...places)).toBe(wanted);
  expect(Math.max(...places)).toBeLessThan(wanted + 60_000);
});

it('of HIGH 50 more come back in turns of their own, behind nothing that isn’t', () => {
  const wanted = now + minuteMs;
  const others = placed(tenants, 200, wanted);
  const high = placed([anna], 200, wanted, now + hourMs, 'HIGH');
  expect(Math.max(...high)).toBeLessThan(wanted + 5_000);
  expect(busiestSecond([...others, ...high])).toBeLessThanOrEqual(250);
});

it('however much ten tenants have out, one more has a part of its own', () => {
  const wanted = now + minuteMs;
  placed(tenants.slice(0, 10), 20_000, wanted);
  const places = placed([anna], 500, wanted);
  expect(places[0]).toBe(wanted);
  expect(Math.max(...places)).toBeLessThan(wanted + 2 * minuteMs);
});

it('a part is of those that have something out still', () => {
  placed(tenants, 100, now + minuteMs);
  now += hourMs;
  placed([bob], 10_000, now);
  const places = placed([anna], 100, now);
  expect(Math.max(...places)).toBeLessThan(now + 5_000);
});

it('what would be later than the latest comes back any time until then, where there is room if there is some', () => {
  const latest = now + 5 * minuteMs;
  const places = [...placed([anna], 10_000, now + hourMs, latest), ...placed([anna], 10_000, now, latest)];
  expect(Math.min(...places)).toBeGreaterThanOrEqual(now);
  expect(Math.max(...places)).toBeLessThanOrEqual(latest);
  expect(busiestSecond(places)).toBeLessThan(160);
});

it('and where there is none, all the same: evenly, in as many a second as it must', () => {
  const latest = now + 5 * minuteMs;
  const places = placed(tenants, 1_000, now, latest);
  expect(Math.max(...places)).toBeLessThanOrEqual(latest);
  expect(busiestSecond(places)).toBeLessThan(1.4 * (100_000 / 300));
});

it('what comes back whether there is room or not takes some of it', () => {
  const wanted = now + minuteMs;
  for (let n = 0; n < 100; n++) comingBack.note(wanted);
  placed([bob], 1, wanted);
  expect(placeOf(bob, wanted)).toBeGreaterThan(wanted);
});

it('what is over makes room again, after days without anything too', () => {
  for (const passMs of [hourMs, 3 * hourMs, 5 * 24 * hourMs, 1_000]) {
    now += passMs;
    const wanted = now + 4 * hourMs;
    const places = placed(tenants, 4, wanted, now + 4.5 * hourMs);
    expect(Math.max(...places)).toBeLessThan(wanted + 7_000);
  }
});

it('what a receiver wants to have in a day has it then', () => {
  const dayMs = 24 * hourMs;
  expect(placeOf(anna, now + 1.1 * dayMs, now + 1.25 * dayMs)).toBe(now + 1.1 * dayMs);
});

it('knows of 5,000 tenants what they have out: of more, nothing of whoever came first', () => {
  placed([anna], 500, now);
  placed(
    Array.from({ length: 5_000 }, (_, i) => `tnt_more_${i}` as TenantId),
    1,
    now + minuteMs,
  );
  expect(placeOf(anna, now)).toBe(now);
});
