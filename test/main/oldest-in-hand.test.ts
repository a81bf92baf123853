// How old what the projectors' thread has in hand is: known at once in another thread, and of each read model apart.

import { beforeEach, describe, expect, it } from '@jest/globals';

import { createOldestInHand, noteOldestIn, oldestOf } from '../../src/main/oldest-in-hand.ts';
import type { FoldReport } from '../../src/projections/fold-report.ts';
import { createFoldReport } from '../../src/projections/fold-report.ts';

let report: FoldReport;
let oldest: (readModel: string) => number | null;

beforeEach(() => {
  const shared = createOldestInHand(['records', 'inbox']);
  report = createFoldReport({ now: () => 0 }, noteOldestIn(shared));
  // Memory that is shared stays shared when it is posted.
  oldest = oldestOf(structuredClone(shared));
});

describe('the oldest event in hand', () => {
  it('is the oldest of all numbers, and another as soon as one is folded', () => {
    expect(oldest('records')).toBeNull();
    report.inHand('records', 3, 1_700_000_000_500);
    report.inHand('records', 4, 1_700_000_000_200);
    expect(oldest('records')).toBe(1_700_000_000_200);
    report.folded('records', 4);
    expect(oldest('records')).toBe(1_700_000_000_500);
    report.folded('records', 3);
    expect(oldest('records')).toBeNull();
  });

  it('is of its own read model, and nobody else’s once a number is lost', () => {
    report.inHand('inbox', 3, 7);
    report.inHand('unknown', 3, 1);
    expect([oldest('inbox'), oldest('records'), oldest('unknown')]).toEqual([7, null, null]);
    report.ended('inbox', 3);
    expect(oldest('inbox')).toBeNull();
  });
});
