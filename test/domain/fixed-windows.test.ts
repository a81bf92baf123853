// Fixed windows by a clock of the test's own: exact at their ends, and nothing is kept of those that have ended.

import { expect, it } from '@jest/globals';

import { createFixedWindows } from '../../src/domain/fixed-windows.ts';
import fc from '../support/properties.ts';

const limit = { limit: 2, windowMs: 1000 };

it('a take that is refused at the end of a window takes nothing from the next, which lets exactly the limit through', () => {
  const windows = createFixedWindows();
  const take = (now: number) => windows.take('a', limit, 1, now);
  expect([take(0), take(1)].map(({ allowed }) => allowed)).toEqual([true, true]);
  expect(take(999.9)).toEqual({ allowed: false, remaining: 0, resetMs: 1 });
  expect(take(1000)).toEqual({ allowed: true, remaining: 1, resetMs: 1000 });
  expect(take(1001)).toMatchObject({ allowed: true, remaining: 0 });
  expect(take(1999)).toMatchObject({ allowed: false, remaining: 0 });
});

it('a window that somebody else counts as well ends when that one does', () => {
  const windows = createFixedWindows();
  expect(windows.take('a', limit, 2, 0, 300)).toEqual({ allowed: true, remaining: 0, resetMs: 300 });
  expect(windows.take('a', limit, 1, 299, 5000).allowed).toBe(false);
  expect(windows.take('a', limit, 1, 300).allowed).toBe(true);
});

it('no window lets more through than its limit, and none is longer, whatever is taken and when', () => {
  const takes = fc.array(
    fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), cost: fc.integer({ min: 1, max: 4 }) }),
  );
  fc.assert(
    fc.property(takes, fc.integer({ min: 0, max: 6 }), (of, most) => {
      const windows = createFixedWindows();
      let now = 0;
      let [beganAt, taken] = [-Infinity, 0];
      for (const { afterMs, cost } of of) {
        now += afterMs;
        if (now - beganAt >= 1000) [beganAt, taken] = [Infinity, 0];
        const decision = windows.take('a', { limit: most, windowMs: 1000 }, cost, now);
        expect(decision.allowed).toBe(taken + cost <= most);
        if (decision.allowed) [beganAt, taken] = [Math.min(beganAt, now), taken + cost];
        expect(decision.remaining).toBe(most - taken);
      }
    }),
  );
});

it('who paces himself and comes late finds the window where it would have been had he been in time', () => {
  const windows = createFixedWindows();
  const pace = (now: number) => windows.pace('a', limit, now);
  expect([pace(0), pace(0), pace(0)].map(({ allowed }) => allowed)).toEqual([true, true, false]);
  expect(pace(1040)).toEqual({ allowed: true, remaining: 1, resetMs: 960 });
  expect(pace(1999)).toEqual({ allowed: true, remaining: 0, resetMs: 1 });
  expect(pace(2000)).toEqual({ allowed: true, remaining: 1, resetMs: 1000 });
  // After a rest of a whole window it begins anew.
  expect(pace(4000)).toEqual({ allowed: true, remaining: 1, resetMs: 1000 });
  expect(pace(5999.5)).toMatchObject({ allowed: true, remaining: 1, resetMs: 1 });
});

it('who paces himself has his whole rate, however late he comes to each window, and never more than the limit in one', () => {
  const lateness = fc.array(fc.integer({ min: 0, max: 999 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(lateness, fc.integer({ min: 1, max: 6 }), (late, most) => {
      const windows = createFixedWindows();
      let now = 0;
      let granted = 0;
      for (const [n, lateMs] of [0, ...late].entries()) {
        now = Math.max(now, n * 1000 + lateMs);
        for (;;) {
          const { allowed, resetMs } = windows.pace('a', { limit: most, windowMs: 1000 }, now);
          if (!allowed) {
            expect(now + resetMs).toBe((n + 1) * 1000);
            break;
          }
          granted++;
        }
        expect(granted).toBe((n + 1) * most);
      }
    }),
  );
});

it('a paced window that somebody else counts as well ends when that one does, and the next follows it', () => {
  const windows = createFixedWindows();
  expect(windows.pace('a', limit, 0, 300)).toEqual({ allowed: true, remaining: 1, resetMs: 300 });
  expect(windows.pace('a', limit, 310)).toEqual({ allowed: true, remaining: 1, resetMs: 990 });
});

it('nobody is told to wait for longer than a window lasts, at whatever fraction of a millisecond it began', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), (n) => {
      const now = n / 10_007;
      const { resetMs } = createFixedWindows().take('a', { limit: 1, windowMs: 60_000 }, 1, now);
      expect(resetMs).toBeLessThanOrEqual(60_000);
    }),
  );
});

it('a window that lasts for a day holds none of those that last for seconds', () => {
  const windows = createFixedWindows();
  const day = { limit: 1000, windowMs: 24 * 3_600_000 };
  let most = 0;
  for (let now = 0; now < 100_000; now += 10) {
    if (now % 1000 === 0) windows.take('keys', day, 1, now);
    windows.take(`inbox ${now}`, limit, 1, now);
    windows.pace(`provider ${now}`, limit, now);
    most = Math.max(most, windows.size);
  }
  // Two a turn, 100 turns a second, in two ages of two seconds; and the day's.
  expect(most).toBeLessThanOrEqual(2 * 100 * 4 + 1);
  expect(windows.take('keys', day, 1, 100_000).remaining).toBe(1000 - 101);
});

it('however many names there are at once it holds 50,000 windows of a length, of a name that waits among 20,000 others its own', () => {
  const windows = createFixedWindows();
  const crowd = (from: number, to: number) => {
    for (let n = from; n < to; n++) windows.take(`inbox ${n}`, limit, 1, n / 1000);
  };
  crowd(0, 100_000);
  expect(windows.take('a', limit, 2, 100).allowed).toBe(true);
  crowd(100_000, 120_000);
  expect(windows.take('a', limit, 1, 120)).toEqual({ allowed: false, remaining: 0, resetMs: 980 });
  crowd(120_000, 200_000);
  expect(windows.size).toBeLessThanOrEqual(50_000);
});

it('what others take meanwhile opens nobody’s window before its end', () => {
  const steps = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 3000 }), byB: fc.boolean() }));
  fc.assert(
    fc.property(steps, (of) => {
      const [windows, own] = [createFixedWindows(), createFixedWindows()];
      let now = 0;
      for (const { afterMs, byB } of of) {
        now += afterMs;
        if (byB) windows.pace(`b ${now}`, limit, now);
        else expect(windows.pace('a', limit, now)).toEqual(own.pace('a', limit, now));
      }
    }),
  );
});
