// How long ago others have folded what a read model that may lag comes to now.

import { beforeEach, expect, it } from '@jest/globals';

import type { BehindOthers } from '../../src/projections/behind-others.ts';
import { createBehindOthers } from '../../src/projections/behind-others.ts';

const at = (offset: number, partition = 0) => ({ topic: 'notifications-bulk' as const, partition, offset });
const keptMs = 10_000;

let now: number;
let behind: BehindOthers;

beforeEach(() => {
  now = 0;
  behind = createBehindOthers({ monotonic: () => now }, keptMs);
});

it('where others haven’t been, it isn’t behind: nowhere, at another number, or further on', () => {
  expect(behind.behindMs(at(0))).toBe(0);
  behind.passed(at(10));
  now = 5000;
  expect([behind.behindMs(at(10)), behind.behindMs(at(11)), behind.behindMs(at(10, 1))]).toEqual([5000, 0, 0]);
});

it('what they passed within a second counts from its end, so it is never said to be further behind than it is', () => {
  behind.passed(at(10));
  now = 500;
  behind.passed(at(20));
  now = 1000;
  behind.passed(at(30));
  now = 3000;
  expect([behind.behindMs(at(10)), behind.behindMs(at(11)), behind.behindMs(at(30))]).toEqual([3000, 2000, 2000]);
});

it('a second read model that comes later to the same doesn’t make it less', () => {
  behind.passed(at(10));
  now = 4000;
  behind.passed(at(5));
  expect(behind.behindMs(at(5))).toBe(4000);
});

it('what is longer ago than can matter is that long ago, however far it is behind, and takes no more room', () => {
  for (now = 0; now <= 100_000; now += 1000) behind.passed(at(now));
  now = 100_000;
  expect([behind.behindMs(at(0)), behind.behindMs(at(90_000)), behind.behindMs(at(90_001))]).toEqual([
    keptMs,
    keptMs,
    9000,
  ]);
});

it('after a quiet time it is behind by what came since', () => {
  behind.passed(at(10));
  now = 3_600_000;
  behind.passed(at(500));
  now += 2000;
  expect([behind.behindMs(at(10)), behind.behindMs(at(11))]).toEqual([keptMs, 2000]);
});
