// What comes back from the scheduler over all tenants: so much a second, however much it is, with room for those that have little.

import { beforeEach, expect, it } from '@jest/globals';

import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import type { ComingBack } from '../../src/dispatchers/coming-back.ts';
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

/** So many of each, in turns. */
function placed(of: readonly TenantId[], each: number, wanted: number, latest = now + hourMs): number[] {
  return Array.from({ length: each }, () => of.map((tenantId) => comingBack.place(tenantId, wanted, latest))).flat();
}

it('whoever finds room in a second has it when it is wanted', () => {
  expect(comingBack.place(anna, now + 12_345, now + hourMs)).toBe(now + 12_345);
});

it('200 come back in a second, wanted at once or not, and never before they are wanted', () => {
  const wanted = now + minuteMs;
  const places = placed(tenants, 50, wanted);
  expect(busiestSecond(places)).toBe(200);
  expect(Math.min(...places)).toBe(wanted);
  expect(Math.max(...places)).toBeLessThan(wanted + 25_000);
});

it('of tenants that have much out half as many do, so that who has little finds room among the others', () => {
  const wanted = now + minuteMs;
  placed(tenants.slice(0, 5), 1_500, wanted);
  const places = placed(tenants.slice(0, 5), 10_000, wanted);
  expect(busiestSecond(places)).toBe(100);
  expect(comingBack.place(bob, wanted + 2 * minuteMs, now + hourMs)).toBe(wanted + 2 * minuteMs);
});

it('much is what a tenant has out in all, and until that has come back', () => {
  for (let i = 0; i < 15; i++) for (let n = 0; n < 110; n++) comingBack.note(anna, now + (i + 1) * minuteMs + n * 10);
  const inASecond = () => busiestSecond(placed([anna], 400, now + hourMs, now + 2 * hourMs));
  expect(inASecond()).toBe(100);
  now += 3 * hourMs;
  expect(inASecond()).toBe(200);
});

it('what would be later than the latest comes back then, and where all is full as soon behind it as there is room: no faster for being more', () => {
  const latest = now + 5 * minuteMs;
  placed([anna], 1_500, now);
  const places = placed([anna], 100_000, now + hourMs, latest);
  expect(Math.min(...places)).toBe(latest);
  expect(busiestSecond(places)).toBe(100);
  expect(Math.max(...places)).toBeLessThan(latest + 1_010_000);
});

it('what finds four hours and a half full is spread behind them', () => {
  const end = now + 16_384_000;
  placed([anna], 20_000, end - minuteMs, end);
  const places = placed([anna], 20_000, end - minuteMs, end);
  expect(Math.min(...places)).toBeGreaterThanOrEqual(end);
  expect(Math.max(...places)).toBeLessThan(end + 16_384_000 / 4);
});

it('what comes back whether there is room or not takes some of it', () => {
  const wanted = now + minuteMs;
  for (let n = 0; n < 200; n++) comingBack.note(anna, wanted);
  expect(comingBack.place(bob, wanted, now + hourMs)).toBeGreaterThan(wanted);
});

it('what is over makes room again, after days without anything too', () => {
  for (const passMs of [hourMs, 3 * hourMs, 5 * 24 * hourMs, 1_000]) {
    now += passMs;
    const wanted = now + 4 * hourMs;
    const places = placed(tenants, 4, wanted, now + 4 * hourMs);
    expect(Math.max(...places)).toBeLessThan(wanted + 5_000);
  }
});

it('what a receiver wants to have in a day has it then', () => {
  const dayMs = 24 * hourMs;
  expect(comingBack.place(anna, now + 1.1 * dayMs, now + 1.25 * dayMs)).toBe(now + 1.1 * dayMs);
});

it('knows what 10,000 tenants have out: of more, nothing of whoever came first', () => {
  const many = Array.from({ length: 10_000 }, (_, i) => `tnt_more_${i}` as TenantId);
  placed([anna], 1_500, now + hourMs);
  for (const one of many) comingBack.note(one, now + 2 * hourMs);
  expect(busiestSecond(placed([anna], 400, now + 3 * hourMs, now + 4 * hourMs))).toBe(200);
});
