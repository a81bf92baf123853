// What an answer over HTTP means for the next attempt.

import { describe, expect, it } from '@jest/globals';

import { isRetryableStatus, retryAfterMaxMs, retryAfterMs } from '../../src/domain/delivery-outcome.ts';
import fc from '../support/properties.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

describe('a status', () => {
  it.each([408, 409, 425, 429, 500, 502, 503, 599])('%i is worth another try', (status) => {
    expect(isRetryableStatus(status)).toBe(true);
  });

  it.each([300, 301, 302, 400, 401, 403, 404, 410, 413, 422, 451])('%i is not', (status) => {
    expect(isRetryableStatus(status)).toBe(false);
  });
});

describe('Retry-After', () => {
  it('is read as whole seconds', () => {
    expect(retryAfterMs('3', now)).toBe(3000);
    expect(retryAfterMs(' 120 ', now)).toBe(120_000);
    expect(retryAfterMs('0', now)).toBe(0);
  });

  it.each(['Sat, 21 Nov 2026 12:00:30 GMT', 'Saturday, 21-Nov-26 12:00:30 GMT', 'Sat Nov 21 12:00:30 2026'])(
    "is read as a date in each of HTTP's three spellings: %s",
    (header) => {
      expect(retryAfterMs(header, now)).toBe(30_000);
    },
  );

  it('asks for nothing when the date is past, and for 24 hours at most', () => {
    expect(retryAfterMs('Sat, 21 Nov 2026 11:00:00 GMT', now)).toBe(0);
    expect(retryAfterMs('9999999999', now)).toBe(retryAfterMaxMs);
    expect(retryAfterMs('Sat, 21 Nov 2099 12:00:00 GMT', now)).toBe(retryAfterMaxMs);
  });

  it('is none when it is absent or malformed', () => {
    for (const header of [undefined, '', 'soon', 'NaN', '1h']) expect(retryAfterMs(header, now)).toBeNull();
  });

  it('never gives a negative, endless or unnumbered wait', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)), (header) => {
        const wait = retryAfterMs(header, now);
        if (wait !== null) {
          expect(wait).toBeGreaterThanOrEqual(0);
          expect(wait).toBeLessThanOrEqual(retryAfterMaxMs);
        }
      }),
    );
  });

  it.each(['-5', '1.5', '1e3'])("is none for '%s', which is neither whole seconds nor a date", (header) => {
    expect(retryAfterMs(header, now)).toBeNull();
  });
});
