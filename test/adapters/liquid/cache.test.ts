import { describe, expect, it } from '@jest/globals';
import { createCache } from '../../../src/adapters/liquid/cache.ts';
import fc from '../../support/properties.ts';

describe('the cache of compiled templates', () => {
  it('gives back what was put in, under its key alone', () => {
    const cache = createCache<number>({ bytesMax: 1000 });
    cache.set('a', 1, 10);
    expect(cache.get('a')).toBe(1);
    expect(cache.get('b')).toBeUndefined();
  });

  it('keeps what is asked for while others come and go', () => {
    const cache = createCache<number>({ bytesMax: 1000 });
    cache.set('hot', 1, 10);
    for (let i = 0; i < 1000; i++) {
      cache.set(`cold ${i}`, i, 50);
      expect(cache.get('hot')).toBe(1);
    }
    expect(cache.get('cold 0')).toBeUndefined();
  });

  it('keeps no entry that would push out most others', () => {
    const cache = createCache<number>({ bytesMax: 1000 });
    cache.set('big', 1, 200);
    expect(cache.get('big')).toBeUndefined();
  });

  it('never holds more than its limit', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      bytes: fc.integer({ min: 0, max: 200 }),
      read: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const cache = createCache<number>({ bytesMax: 800 });
        for (const { key, bytes, read } of steps) {
          if (read) cache.get(key);
          else cache.set(key, bytes, bytes);
          expect(cache.bytes).toBeLessThanOrEqual(800);
          expect(cache.bytes).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
