// Who folds when on a thread that read models share: large batches one at a time or, where all catch up, four together, small ones at once, what may lag in the time that is left.

import { beforeEach, describe, expect, it } from '@jest/globals';

import type { FoldPace } from '../../src/ports/read-model-store.ts';
import type { Turns } from '../../src/projections/turns.ts';
import { createTurns } from '../../src/projections/turns.ts';

const { signal } = new AbortController();
const at = (offset: number) => ({ topic: 'notifications-bulk' as const, partition: 3, offset });
const [first, last] = [at(0), at(0)];
const pace: FoldPace = { eventsMax: 500, fewMs: 25, manyMs: 100, unrestedMax: 3, inThread: true };

let now: number;
let sleeps: number[];
let running: number;
let turns: Turns;

beforeEach(() => {
  [now, sleeps, running] = [0, [], 0];
  turns = createTurns({ now: () => now, monotonic: () => now, sleep: async (ms: number) => void sleeps.push(ms) });
});

/** 20 ms, and never two at once. */
async function work(): Promise<void> {
  expect(++running).toBe(1);
  now += 20;
  await Promise.resolve();
  running--;
}

async function failing(): Promise<void> {
  await work();
  throw new Error('no');
}

describe('what may lag', () => {
  it('folds one batch at a time, and rests while others have much to do', async () => {
    await Promise.all([turns.lagging(signal, work, first), turns.lagging(signal, work, first)]);
    expect(sleeps).toEqual([]);
    turns.noted({ entries: 500, isLarge: true, waitedMs: 0, last });
    await Promise.all([turns.lagging(signal, work, first), turns.lagging(signal, work, first)]);
    expect(sleeps).toEqual([80, 80]);
    await expect(turns.lagging(signal, failing, first)).rejects.toThrow('no');
    now += 1000;
    await turns.lagging(signal, work, first);
    expect(sleeps).toHaveLength(3);
  });
});

describe('what may lag and is 15 s behind the others', () => {
  it('rests no more until it has come nearer', async () => {
    const others = (offset: number) => turns.noted({ entries: 500, isLarge: true, waitedMs: 0, last: at(offset) });
    const restsFrom = async (offset: number) => {
      sleeps = [];
      await turns.lagging(signal, work, at(offset));
      return sleeps;
    };
    for (now = 0; now <= 20_000; now += 500) others(now);
    // Of 5,001 to 6,000 the others had been told at 6 s.
    now = 20_900;
    others(20_500);
    expect(await restsFrom(6001)).toEqual([80]);
    others(20_500);
    expect(await restsFrom(5001)).toEqual([80]);
    others(20_500);
    now = 21_000;
    expect(await restsFrom(5001)).toEqual([]);
    others(20_500);
    expect(await restsFrom(0)).toEqual([]);
    others(20_500);
    expect(await restsFrom(30_000)).toEqual([80]);
  });
});

describe('what may lag of several numbers', () => {
  it('rests after those that aren’t far behind, and not after those that are, in whatever order they wait', async () => {
    const others = (offset: number) => turns.noted({ entries: 500, isLarge: true, waitedMs: 0, last: at(offset) });
    for (now = 0; now <= 20_000; now += 500) others(now);
    others(20_500);
    const far = turns.lagging(signal, work, at(0));
    await Promise.all([far, turns.lagging(signal, work, at(30_000))]);
    expect(sleeps).toEqual([80]);
    others(20_500);
    const near = turns.lagging(signal, work, at(30_000));
    await Promise.all([near, turns.lagging(signal, work, at(0))]);
    expect(sleeps).toEqual([80, 80]);
  });
});

describe('what is filled while another serves', () => {
  it('folds one batch at a time, rests as long as it took while others fold, and much longer while they are late', async () => {
    await Promise.all([turns.beside(signal, work), turns.beside(signal, work)]);
    expect(sleeps).toEqual([]);
    turns.noted({ entries: 1, isLarge: false, waitedMs: 30, last });
    await Promise.all([turns.beside(signal, work), turns.beside(signal, work)]);
    expect(sleeps).toEqual([20, 20]);
    turns.noted({ entries: 1, isLarge: false, waitedMs: 1000, last });
    await turns.beside(signal, work);
    expect(sleeps).toEqual([20, 20, 60]);
    now += 1000;
    await turns.beside(signal, work);
    expect(sleeps).toHaveLength(3);
  });
});

describe('what is filled while another serves', () => {
  /** What was slept, of which `now` knows. */
  let slept: number;
  beforeEach(() => {
    slept = 0;
    const sleep = async (ms: number): Promise<void> => {
      [now, slept] = [now + ms, slept + ms];
    };
    turns = createTurns({ now: () => now, monotonic: () => now, sleep });
  });

  it('begins nothing while something in hand is a second behind, and goes on as soon as that is folded', async () => {
    const isOver = turns.begun(now - 999);
    await turns.beside(signal, work);
    expect(slept).toBe(0);
    const filling = turns.beside(signal, work);
    await Promise.resolve();
    isOver();
    await filling;
    expect(slept).toBeLessThanOrEqual(25);
  });

  it('comes on by a batch a second where what serves is behind for good', async () => {
    turns.begun(now - 5000);
    for (let batches = 1; batches <= 3; batches++) {
      await turns.beside(signal, work);
      expect(slept).toBe(batches * 1000);
    }
  });

  it('waits no longer once it is to stop', async () => {
    turns.begun(now - 5000);
    await turns.beside(AbortSignal.abort(), work);
    expect(slept).toBe(0);
  });
});

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('large batches', () => {
  const usual = { isHeavy: false };
  const heavy = { isHeavy: true };
  /** Of works that end when they are told to, how many run. */
  function held(): { readonly work: () => Promise<void>; readonly begun: () => number; end(): Promise<void> } {
    const running: (() => void)[] = [];
    let begun = 0;
    return {
      work: () => {
        begun++;
        return new Promise((resolve) => running.push(resolve));
      },
      begun: () => begun,
      async end() {
        running.shift()?.();
        await turnOfLoop();
      },
    };
  }

  it('are folded four together where nobody has small ones, and one at a time where somebody has', async () => {
    const { work: one, begun, end } = held();
    const all = Array.from({ length: 7 }, () => turns.large(signal, one, usual));
    await turnOfLoop();
    expect(begun()).toBe(4);
    await end();
    expect(begun()).toBe(5);
    turns.noted({ entries: 1, isLarge: false, waitedMs: 0, last });
    for (const expected of [5, 5, 5, 6, 7]) {
      await end();
      expect(begun()).toBe(expected);
    }
    await end();
    await Promise.all(all);
  });

  it('that are heavy are folded by themselves: none beside them, and none passes them', async () => {
    const { work: one, begun, end } = held();
    const all = [usual, heavy, usual, usual].map((batch) => turns.large(signal, one, batch));
    for (const expected of [1, 2, 4]) {
      await turnOfLoop();
      expect(begun()).toBe(expected);
      await end();
    }
    await end();
    await Promise.all(all);
  });

  it('that are heavy are folded one at a time, also after one that failed', async () => {
    const all = [work, failing, work].map((one) => turns.large(signal, one, heavy));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('rest as long as they took while others fold small ones, and not at all where nobody does', async () => {
    turns.noted({ entries: 500, isLarge: true, waitedMs: 0, last });
    await turns.large(signal, work, usual);
    expect(sleeps).toEqual([]);
    turns.noted({ entries: 1, isLarge: false, waitedMs: 0, last });
    await turns.large(signal, work, usual);
    expect(sleeps).toEqual([20]);
    now += 500;
    await turns.large(signal, work, usual);
    expect(sleeps).toEqual([20]);
  });

  it('rest no more where they have waited for a quarter of a second, until they have caught up', async () => {
    const small = { last, entries: 1, isLarge: false, waitedMs: 60_000 };
    turns.noted(small);
    turns.noted({ entries: 2, isLarge: true, waitedMs: 250, last });
    await turns.large(signal, work, usual);
    expect(sleeps).toEqual([]);
    now += 500;
    turns.noted(small);
    turns.noted({ entries: 2, isLarge: true, waitedMs: 249, last });
    await turns.large(signal, work, usual);
    expect(sleeps).toEqual([20]);
  });

  it('of who needs more than half of the thread are behind by less than half a second, for as long as they come', async () => {
    turns = createTurns({ now: () => now, monotonic: () => now, sleep: async (ms) => void (now += ms) });
    let behindMax = 0;
    // 20 ms of the thread every 30 ms, for a minute; somebody else has a small one now and then.
    for (let postedAt = 0; postedAt < 60_000; postedAt += 30) {
      now = Math.max(now, postedAt);
      await turns.large(signal, work, usual);
      const waitedMs = now - postedAt;
      turns.noted({ entries: 500, isLarge: true, waitedMs, last });
      turns.noted({ entries: 1, isLarge: false, waitedMs: 0, last });
      behindMax = Math.max(behindMax, waitedMs);
    }
    expect(behindMax).toBeLessThan(500);
  });
});

describe('small batches', () => {
  it('are followed by no rest while there are few of them in a beat', () => {
    const inBeat = () => Array.from({ length: 5 }, () => turns.needsNoRest(pace));
    expect(inBeat()).toEqual([true, true, true, false, false]);
    now += 99;
    expect(turns.needsNoRest(pace)).toBe(false);
    now += 1;
    expect(inBeat()).toEqual([true, true, true, false, false]);
  });
});

describe('small batches', () => {
  const small = (entries: number) => ({ entries, isLarge: false, waitedMs: 0, last });
  /** Of five in a beat. */
  const unrested = (entries: number) =>
    Array.from({ length: 5 }, () => {
      turns.noted(small(entries));
      return turns.needsNoRest(pace);
    }).filter(Boolean).length;

  it('are followed by no rest, a few of each beat, while all numbers together have little', () => {
    expect(unrested(1)).toBe(3);
    now += 100;
    expect(unrested(39)).toBe(3);
    now += 100;
    expect(unrested(1)).toBe(3);
  });

  it('all rest after a beat with much in it, until one had little again', () => {
    unrested(60);
    now += 100;
    expect(unrested(60)).toBe(0);
    now += 100;
    expect(unrested(1)).toBe(0);
    now += 100;
    expect(unrested(1)).toBe(3);
    // Of long ago.
    unrested(99);
    now += 200;
    expect(unrested(1)).toBe(3);
  });
});
