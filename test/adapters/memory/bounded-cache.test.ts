// The bounded cache: never heavier than it may be, and what is used stays.

import { describe, expect, it } from '@jest/globals';

import { createBoundedCache } from '../../../src/adapters/memory/bounded-cache.ts';
import fc from '../../support/properties.ts';

describe('a bounded cache', () => {
  it('keeps what is used and lets go of what is not', () => {
    const cache = createBoundedCache<number>({ weightMax: 3 });
    for (const key of ['a', 'b', 'c']) cache.set(key, 1);
    cache.get('a');
    cache.set('d', 1);
    cache.get('a');
    cache.set('e', 1);
    expect(['a', 'b', 'c', 'd', 'e'].filter((key) => cache.get(key) !== undefined)).toEqual(['a', 'd', 'e']);
  });

  it('keeps the last value of a key, and nothing that is heavier than all of it', () => {
    const cache = createBoundedCache<string>({ weightMax: 10, weightOf: (text) => text.length });
    cache.set('a', 'one');
    cache.set('a', 'two');
    expect(cache.get('a')).toBe('two');
    cache.set('a', 'x'.repeat(11));
    expect(cache.get('a')).toBeUndefined();
  });

  it('is never over its weight, and holds what was set last, whatever is done', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key, weight: fc.integer({ min: 0, max: 6 }) }),
      fc.record({ do: fc.constantFrom('get' as const, 'delete' as const, 'clear' as const), key }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = createBoundedCache<number>({ weightMax: 10, weightOf: (weight) => weight });
        for (const each of steps) {
          if (each.do === 'set') {
            cache.set(each.key, each.weight);
            expect(cache.get(each.key)).toBe(each.weight);
          } else cache[each.do](each.key);
          const held = ['a', 'b', 'c', 'd', 'e'].map((name) => cache.get(name) ?? 0);
          expect(held.reduce((sum, weight) => sum + weight, 0)).toBeLessThanOrEqual(10);
        }
      }),
    );
  });
});
