// When a failed attempt is made again.

import { describe, expect, it } from '@jest/globals';

import { retryAfterMaxMs } from '../../src/domain/delivery-outcome.ts';
import { channels } from '../../src/domain/events.ts';
import type { Channel } from '../../src/domain/events.ts';
import { defaultRetryPolicy, fixedRetryPolicy, retryDelayMs } from '../../src/domain/retry-policy.ts';
import fc from '../support/properties.ts';

/** The middle of the jitter. */
const middle = 0.5;

function tableOf(channel: Channel): (number | null)[] {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8].map((attemptOfRound) =>
    retryDelayMs(defaultRetryPolicy, { channel, attemptOfRound, retryAfterMs: null }, middle),
  );
  return delays.map((delay) => (delay === null ? null : delay / 1000));
}

describe('the retry table', () => {
  it('of webhooks has eight attempts over some 17 hours', () => {
    expect(tableOf('WEBHOOK')).toEqual([5, 30, 120, 900, 3600, 14_400, 43_200, null]);
  });

  it.each(['EMAIL', 'SMS'] as const)('of %s has six attempts over some 73 minutes', (channel) => {
    expect(tableOf(channel)).toEqual([5, 30, 120, 600, 3600, null, null, null]);
  });

  it('is replaced for every channel, without jitter, by fixed delays', () => {
    const policy = fixedRetryPolicy([1000, 2000]);
    for (const channel of channels) {
      const delay = (attemptOfRound: number) =>
        retryDelayMs(policy, { channel, attemptOfRound, retryAfterMs: null }, 0.99);
      expect([delay(1), delay(2), delay(3)]).toEqual([1000, 2000, null]);
    }
  });
});

describe('a delay', () => {
  const failed = { channel: 'WEBHOOK' as const, attemptOfRound: 1 };

  it('lies within 20 % of the table, at both ends', () => {
    expect(retryDelayMs(defaultRetryPolicy, { ...failed, retryAfterMs: null }, 0)).toBe(4000);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const delay = retryDelayMs(defaultRetryPolicy, { ...failed, retryAfterMs: null }, random) ?? 0;
        expect(delay).toBeGreaterThanOrEqual(4000);
        expect(delay).toBeLessThanOrEqual(6000);
      }),
    );
  });

  it('is what the receiver asked for when that is later, and the table when it is sooner', () => {
    expect(retryDelayMs(defaultRetryPolicy, { ...failed, retryAfterMs: 60_000 }, middle)).toBe(60_000);
    expect(retryDelayMs(defaultRetryPolicy, { ...failed, retryAfterMs: 10 }, middle)).toBe(5000);
  });

  it('is never more than the receiver may ask for: 24 hours', () => {
    expect(retryDelayMs(defaultRetryPolicy, { ...failed, retryAfterMs: 1e12 }, middle)).toBe(retryAfterMaxMs);
  });

  it('is none after the last attempt, whatever the receiver asks for', () => {
    const last = { channel: 'EMAIL' as const, attemptOfRound: 6, retryAfterMs: 1000 };
    expect(retryDelayMs(defaultRetryPolicy, last, middle)).toBeNull();
  });
});
