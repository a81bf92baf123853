// When connections are read for the first time: twenty of an address at once, then one in a ms; one in 100 ms once one of them was cut.

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import type { SlowStarts } from '../../src/api/slow-starts.ts';
import { createSlowStarts } from '../../src/api/slow-starts.ts';

let slowStarts: SlowStarts;
let started: number[];
let stopped: number[];

beforeEach(() => {
  jest.useFakeTimers();
  slowStarts = createSlowStarts(() => performance.now());
  started = [];
  stopped = [];
});
afterEach(() => {
  jest.useRealTimers();
});

const open = (id: number, address = 'a') =>
  slowStarts.open(address, { start: () => void started.push(id), stop: () => void stopped.push(id) });
const openAll = (count: number, address = 'a') => Array.from({ length: count }, (_, i) => open(i, address));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('connections of an address', () => {
  it('start twenty at once, then one in a ms, in their order', () => {
    openAll(60);
    expect(started).toEqual(upTo(20));
    jest.advanceTimersByTime(10);
    expect(started).toEqual(upTo(30));
    jest.advanceTimersByTime(30);
    expect(started).toEqual(upTo(60));
    jest.advanceTimersByTime(20);
    openAll(21);
    expect(started).toHaveLength(80);
  });

  it('start one in 100 ms after one was cut, those that waited too, for ten seconds', () => {
    for (const end of openAll(20)) end?.();
    openAll(5);
    slowStarts.cut('a');
    expect(started).toHaveLength(20);
    jest.advanceTimersByTime(99);
    expect(started).toHaveLength(20);
    jest.advanceTimersByTime(1);
    expect(started).toHaveLength(21);
    jest.advanceTimersByTime(400);
    expect(started).toHaveLength(25);
    jest.advanceTimersByTime(9_499);
    openAll(3);
    expect(started).toHaveLength(26);
    jest.advanceTimersByTime(100);
    expect(started).toHaveLength(28);
    jest.advanceTimersByTime(20);
    openAll(20);
    expect(started).toHaveLength(48);
  });

  it('that were read are stopped when one is cut, and started one after another, in turn with those that wait', () => {
    openAll(20);
    openAll(4, 'b');
    slowStarts.cut('a');
    expect(stopped).toEqual(upTo(20));
    open(20);
    open(21);
    started = [];
    jest.advanceTimersByTime(500);
    expect(started).toEqual([20, 0, 21, 1, 2]);
    // A second one: who has not been started again is not stopped twice.
    stopped = [];
    slowStarts.cut('a');
    expect(stopped).toEqual([20, 0, 21, 1, 2]);
    jest.advanceTimersByTime(100);
    expect(started).toHaveLength(6);
    jest.advanceTimersByTime(30_000);
    expect(new Set(started)).toEqual(new Set(upTo(22)));
  });

  it('whose bodies come in many pieces are read one in 20 ms for a second', () => {
    openAll(20);
    openAll(20, 'b');
    for (let n = 0; n < 8; n++) slowStarts.came('a', 1_000);
    expect([stopped, slowStarts.waiting()]).toEqual([[], 0]);
    slowStarts.came('a', 1_000);
    expect([stopped, slowStarts.waiting()]).toEqual([upTo(20), 20]);
    started = [];
    jest.advanceTimersByTime(100);
    expect(started).toEqual(upTo(5));
    jest.advanceTimersByTime(1_000);
    expect([started, slowStarts.waiting()]).toEqual([upTo(20), 0]);
    // 50,000 a second are nobody's many.
    stopped = [];
    for (let n = 0; n < 50; n++) {
      slowStarts.came('a', 1_000);
      jest.advanceTimersByTime(20);
    }
    expect(stopped).toEqual([]);
  });

  it('have their turns while one that is read all the same brings more and more, and are soon as before', () => {
    openAll(20);
    // A body that its handler reads on, as fast as it comes: 100,000 pieces a second, for ten seconds.
    slowStarts.came('a', 9_000);
    started = [];
    for (let ms = 0; ms < 10_000; ms += 5) {
      slowStarts.came('a', 500);
      jest.advanceTimersByTime(5);
    }
    expect(started.length).toBeGreaterThanOrEqual(490);
    expect(new Set(started)).toEqual(new Set(upTo(20)));
    jest.advanceTimersByTime(1_500);
    stopped = [];
    slowStarts.came('a', 1_000);
    expect([stopped, slowStarts.waiting()]).toEqual([[], 0]);
  });

  it('that have ended are not started', () => {
    const ends = openAll(20);
    slowStarts.cut('a');
    started = [];
    for (const end of ends.slice(0, 19)) end?.();
    jest.advanceTimersByTime(30_000);
    expect(started).toEqual([19]);
  });

  it('that would wait for over ten seconds are refused', () => {
    slowStarts.cut('a');
    const opened = openAll(120);
    expect(opened.filter((one) => one === null)).toHaveLength(20);
    expect(started).toEqual([]);
    jest.advanceTimersByTime(10_100);
    expect(started).toHaveLength(100);
  });

  it('that have gone before their turn take none', () => {
    slowStarts.cut('a');
    const [first] = openAll(2);
    first?.();
    jest.advanceTimersByTime(100);
    expect(started).toEqual([1]);
  });

  it('are not held up by those of another', () => {
    slowStarts.cut('a');
    openAll(50);
    openAll(20, 'b');
    expect(started).toHaveLength(20);
  });
});
