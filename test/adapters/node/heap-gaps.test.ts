// Gaps between heaps of work: where another tenant is about the thread rests as long as it works, 20 ms from heap to heap at most; where nobody is, never.

import { expect, it } from '@jest/globals';

import type { LoopTimes } from '../../../src/adapters/node/heap-gaps.ts';
import { createHeapGaps } from '../../../src/adapters/node/heap-gaps.ts';
import type { TenantId } from '../../../src/domain/ids.ts';

const [flooding, other] = ['flooding', 'other'] as [TenantId, TenantId];

/** A thread whose time passes while somebody sleeps, and which works a share of that. */
function thread(activeShare: number) {
  const loop = { idle: 0, active: 0 };
  const now = () => loop.idle + loop.active;
  const works = (ms: number) => void (loop.active += ms);
  let slept = 0;
  const gaps = createHeapGaps({
    now,
    loop: (since: LoopTimes = { idle: 0, active: 0 }) => ({
      idle: loop.idle - since.idle,
      active: loop.active - since.active,
    }),
    async sleep(ms) {
      slept++;
      loop.active += ms * activeShare;
      loop.idle += ms * (1 - activeShare);
    },
  });
  return { gaps, now, works, slept: () => slept };
}

it('nobody else is about: heap follows heap', async () => {
  const { gaps, now, works, slept } = thread(0);
  for (let i = 0; i < 10; i++) {
    gaps.note(flooding, now());
    await gaps.wait(flooding);
    works(15);
  }
  expect(slept()).toBe(0);
});

it('another has had a piece: the thread rests as long as it worked since the last heap began', async () => {
  const { gaps, now, works } = thread(0);
  gaps.note(other, now());
  await gaps.wait(flooding);
  works(8);
  gaps.note(flooding, now());
  await gaps.wait(flooding);
  expect(now()).toBe(16);
});

it('its own pieces don’t hide the other’s, nor the other’s its own', async () => {
  const { gaps, now, works, slept } = thread(0);
  for (const tenantId of [flooding, other, flooding, flooding]) gaps.note(tenantId, now());
  works(5);
  await gaps.wait(flooding);
  expect(slept()).toBe(5);
  works(5);
  await gaps.wait(other);
  expect(slept()).toBe(10);
  expect([gaps.isAnotherAbout(flooding), gaps.isAnotherAbout(other)]).toEqual([true, true]);
});

it('a thread that never rests has a heap every 20 ms nevertheless', async () => {
  const { gaps, now, works } = thread(1);
  gaps.note(other, now());
  works(10);
  await gaps.wait(flooding);
  expect(now()).toBe(20);
});

it('a second after its last piece nobody makes room for it any more', async () => {
  const { gaps, now, works, slept } = thread(0);
  gaps.note(other, now());
  works(1000);
  await gaps.wait(flooding);
  expect(slept()).toBe(0);
  expect(gaps.isAnotherAbout(flooding)).toBe(false);
});

it('those who wait go on one by one, each with a gap of its own, in their order', async () => {
  const { gaps, now, works } = thread(0.25);
  gaps.note(other, now());
  gaps.note(flooding, now());
  works(4);
  const begun: string[] = [];
  const heap = async (name: string, tenantId: TenantId) => {
    await gaps.wait(tenantId);
    begun.push(`${name} ${now()}`);
    works(4);
  };
  await Promise.all([heap('first', flooding), heap('second', flooding), heap('third', other)]);
  expect(begun).toEqual(['first 12', 'second 24', 'third 36']);
});
