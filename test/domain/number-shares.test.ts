// Sharing partition numbers: even, complete, and as few moves as can be.

import { describe, expect, it } from '@jest/globals';

import { shareNumbers } from '../../src/domain/number-shares.ts';
import fc from '../support/properties.ts';

const owners = fc.array(fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'gone')), { maxLength: 40 });
const members = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });

describe('the shares of a group', () => {
  it('are even and go to its members alone', () => {
    fc.assert(
      fc.property(owners, members, (before, group) => {
        const after = shareNumbers(before, group);
        expect(after).toHaveLength(before.length);
        const sizes = group.map((member) => after.filter((owner) => owner === member).length);
        expect(sizes.reduce((a, b) => a + b, 0)).toBe(before.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('move no more numbers than evenness asks for', () => {
    fc.assert(
      fc.property(owners, members, (before, group) => {
        const after = shareNumbers(before, group);
        const moved = after.filter((owner, number) => owner !== before[number]).length;
        // Whoever owns most may keep one above the even share, as long as there are odd ones.
        const base = Math.floor(before.length / group.length);
        let odd = before.length % group.length;
        let kept = 0;
        for (const member of group) {
          const owned = before.filter((owner) => owner === member).length;
          kept += Math.min(owned, base);
          if (owned > base && odd > 0) {
            odd--;
            kept++;
          }
        }
        expect(moved).toBe(before.length - kept);
      }),
    );
  });

  it('stay as they are when nobody comes or goes', () => {
    fc.assert(
      fc.property(owners, members, (before, group) => {
        const after = shareNumbers(before, group);
        expect(shareNumbers(after, group)).toEqual(after);
        expect(shareNumbers(after, group.toReversed())).toEqual(after);
      }),
    );
  });
});
