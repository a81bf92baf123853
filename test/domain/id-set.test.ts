// The set of ids that erasures are kept in: it says what a Set says, and takes a third of it.

import { describe, expect, it } from '@jest/globals';

import { createIdSet } from '../../src/domain/id-set.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

describe('a set of ids', () => {
  it('has what was added to it, once, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 300 }), fc.array(fc.string()), (added, others) => {
        const ids = createIdSet();
        for (const id of added) ids.add(id);
        const known = new Set(added);
        expect(ids.size).toBe(known.size);
        for (const id of [...added, ...others]) expect(ids.has(id)).toBe(known.has(id));
      }),
    );
  });

  it('takes 23 bytes an id, however many there are', () => {
    const ids = createIdSet();
    let most = 0;
    for (let n = 0; n < 100_000; n++) {
      ids.add(eventIdFrom('one', n));
      if (ids.size > 100) most = Math.max(most, ids.bytes / ids.size);
    }
    expect([ids.size, most < 23.2]).toEqual([100_000, true]);
    for (let n = 0; n < 100_000; n += 997) {
      expect(ids.has(eventIdFrom('one', n))).toBe(true);
      expect(ids.has(eventIdFrom('another', n))).toBe(false);
    }
  });
});
