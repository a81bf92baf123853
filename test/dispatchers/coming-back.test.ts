// What comes back from the scheduler over all tenants: so much a second, however much it is, with room for those that have little.

import { beforeEach, expect, it } from '@jest/globals';

import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import type { ComingBack } from '../../src/dispatchers/coming-back.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

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

it('whoever finds room in a second has it when it is wanted', () => {
  expect(comingBack.place(now + 12_345, now + hourMs, 0)).toBe(now + 12_345);
});

it('200 come back in a second, wanted at once or not, and never before they are wanted', () => {
  const wanted = now + minuteMs;
  const places = Array.from({ length: 5_000 }, () => comingBack.place(wanted, now + hourMs, 0));
  expect(busiestSecond(places)).toBe(200);
  expect(Math.min(...places)).toBe(wanted);
  expect(Math.max(...places)).toBeLessThan(wanted + 25_000);
});

it('of those that have much out half as many do, so that who has little is late for nobody', () => {
  const wanted = now + minuteMs;
  const places = Array.from({ length: 50_000 }, () => comingBack.place(wanted, now + hourMs, 10_000));
  expect(busiestSecond(places)).toBe(100);
  expect(comingBack.place(wanted, now + hourMs, 3)).toBe(wanted);
});

it('where all is full until the latest, what is more is spread over a quarter behind that', () => {
  const latest = now + 5 * minuteMs;
  const places = Array.from({ length: 100_000 }, () => comingBack.place(now + 5 * minuteMs, latest, 10_000));
  expect(Math.min(...places)).toBeGreaterThanOrEqual(latest);
  expect(Math.max(...places)).toBeLessThan(now + 1.25 * 5 * minuteMs);
  expect(busiestSecond(places)).toBeLessThan(1.2 * (100_000 / 75));
});

it('what is over makes room again, after days without anything too', () => {
  for (const passMs of [hourMs, 3 * hourMs, 5 * 24 * hourMs, 1_000]) {
    now += passMs;
    const wanted = now + 4 * hourMs;
    const places = Array.from({ length: 400 }, () => comingBack.place(wanted, now + 4 * hourMs, 0));
    expect(Math.max(...places)).toBeLessThan(wanted + 3_000);
  }
});

it('what a receiver wants to have in a day has it then', () => {
  const dayMs = 24 * hourMs;
  expect(comingBack.place(now + 1.1 * dayMs, now + dayMs, 0)).toBe(now + 1.1 * dayMs);
});
