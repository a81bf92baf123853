// How far behind a partition is, told from looks at its end and its position.

import { describe, expect, it } from '@jest/globals';

import { createLag } from '../../src/watch/lag.ts';

describe('the lag of a partition', () => {
  it('is nothing while the position is at the end that was seen', () => {
    const lag = createLag();
    expect([lag.note(0, 5, 5), lag.note(5_000, 9, 9), lag.note(10_000, 12, 11), lag.note(15_000, 14, 13)]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('grows while the position stands, and shrinks by what is caught up', () => {
    const lag = createLag();
    lag.note(0, 10, 10);
    expect(lag.note(5_000, 20, 10)).toBe(0);
    expect(lag.note(10_000, 30, 10)).toBe(5_000);
    expect(lag.note(15_000, 40, 10)).toBe(10_000);
    // What came after the look at 5 s isn't done.
    expect(lag.note(20_000, 50, 25)).toBe(10_000);
    expect(lag.note(25_000, 50, 50)).toBe(0);
  });

  it('stays what it is while work comes as fast as it is done', () => {
    const lag = createLag();
    let last = 0;
    for (let i = 0; i <= 200; i++) last = lag.note(i * 5_000, 100 + i * 10, 100 + Math.max(0, i - 4) * 10);
    expect(last).toBe(15_000);
  });

  it('grows while the log, or the position, can not be read', () => {
    const lag = createLag();
    lag.note(0, 10, 10);
    expect([lag.note(5_000, null, 10), lag.note(10_000, null, 10), lag.note(15_000, 10, null)]).toEqual([
      0, 5_000, 10_000,
    ]);
    expect(lag.note(20_000, 10, 10)).toBe(0);
  });

  it('is told of hours too, a little too low', () => {
    const lag = createLag();
    for (let i = 0; i < 2_000; i++) lag.note(i * 5_000, 100 + i, 50);
    expect(lag.note(10_000_000, 5_000, 50)).toBeGreaterThan(9_000_000);
  });
});
