// Events that were read lately: a repeat is known, within a bounded memory.

import { describe, expect, it } from '@jest/globals';

import { createRecentIds } from '../../src/dispatchers/recent-ids.ts';
import type { EventId } from '../../src/domain/ids.ts';

const id = (n: number) => `event-${n}` as EventId;

describe('recent ids', () => {
  it('know a repeat at the same place, and at no other', () => {
    const recent = createRecentIds<string>(100);
    expect(recent.isRepeat(id(1), 'p1')).toBe(false);
    expect(recent.isRepeat(id(1), 'p1')).toBe(true);
    expect(recent.isRepeat(id(1), 'p2')).toBe(false);
    expect(recent.isRepeat(id(2), 'p1')).toBe(false);
  });

  it('always know the last half of their limit, and forget what is older than the limit', () => {
    const recent = createRecentIds<string>(100);
    for (let n = 0; n < 1000; n++) expect(recent.isRepeat(id(n), 'p')).toBe(false);
    for (let n = 950; n < 1000; n++) expect(recent.isRepeat(id(n), 'p')).toBe(true);
    expect(recent.isRepeat(id(700), 'p')).toBe(false);
  });

  it('keep an id known for as long as it goes on repeating', () => {
    const recent = createRecentIds<string>(100);
    recent.isRepeat(id(0), 'p');
    for (let n = 1; n < 1000; n++) {
      recent.isRepeat(id(n), 'p');
      if (n % 25 === 0) expect(recent.isRepeat(id(0), 'p')).toBe(true);
    }
  });
});
