// Times as the API writes them.

import { expect, it } from '@jest/globals';

import { isoTime } from '../../src/api/record.ts';
import fc from '../support/properties.ts';

it('are written as a date writes itself, whichever day they are of', () => {
  const dayMs = 86_400_000;
  const lastMs = 8.64e15;
  const near = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -2, max: 2 }));
  const times = fc.oneof(
    near.map(([days, ms]) => days * dayMs + ms),
    fc.integer({ min: 1_700_000_000_000, max: 4_000_000_000_000 }),
    fc.double({ min: -lastMs, max: lastMs, noNaN: true }),
    fc.constantFrom(-lastMs, lastMs, 0, -0, 253_402_300_799_999, 253_402_300_800_000, -62_167_219_200_001),
  );
  fc.assert(
    fc.property(times, (time) => {
      expect(isoTime(time)).toBe(new Date(time).toISOString());
    }),
    { numRuns: 2000 },
  );
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, lastMs + dayMs, -lastMs - 1])
    expect(() => isoTime(none)).toThrow(RangeError);
});
