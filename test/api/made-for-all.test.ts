// What many ask for at once is made once for all of them, with a rest before the next.

import { expect, it } from '@jest/globals';

import { madeForAll } from '../../src/api/made-for-all.ts';
import { createManualClock } from '../adapters/memory/manual-clock.ts';

const settled = () => new Promise((resolve) => void setImmediate(resolve));

/** Something that takes so long by a clock of its own. */
function madeIn(tookMs: number) {
  const clock = createManualClock();
  const state = { made: 0, fails: false };
  const ask = madeForAll(async () => {
    const mine = ++state.made;
    await clock.sleep(tookMs);
    if (state.fails) throw new Error('cannot be made');
    return mine;
  }, clock);
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { ask, state, pass };
}

it('all who ask while it is made have that one, and all who ask while the thread rests the next', async () => {
  const { ask, state, pass } = madeIn(10);
  const first = Array.from({ length: 50 }, ask);
  await pass(0);
  await pass(10);
  expect(new Set(await Promise.all(first))).toEqual(new Set([1]));
  const others = Array.from({ length: 50 }, ask);
  await pass(39);
  expect(state.made).toBe(1);
  await pass(1);
  await pass(10);
  expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  await pass(40);
  const later = ask();
  await pass(0);
  await pass(10);
  expect(await later).toBe(3);
});

it('the rest is 250 ms at most, however long it took', async () => {
  const { ask, state, pass } = madeIn(2000);
  void ask();
  await pass(0);
  await pass(2000);
  void ask();
  await pass(249);
  expect(state.made).toBe(1);
  await pass(1);
  expect(state.made).toBe(2);
});

it('a failure is told to those who asked for it, and the next one is made as ever', async () => {
  const { ask, state, pass } = madeIn(10);
  state.fails = true;
  const told = [ask(), ask()].map((asked) => expect(asked).rejects.toThrow('cannot be made'));
  await pass(0);
  await pass(10);
  await Promise.all(told);
  state.fails = false;
  const next = ask();
  await pass(40);
  await pass(10);
  expect(await next).toBe(2);
});
