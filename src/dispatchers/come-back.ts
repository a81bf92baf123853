// One pass over a range of a partition in which laggards left surplus: whoever has room takes what is his, in its order.

import type { Held, Laggard } from './laggard.ts';
import { isBehind, moveOn, noteFinished, wasFinished } from './laggard.ts';
import type { Laggards } from './laggards.ts';
import { isHungry, mayHold } from './shares.ts';
import type { Memory, Work } from './shares.ts';

export interface ComeBack {
  /** The range: offsets in [from, to), all of which were read before. */
  readonly from: number;
  readonly to: number;
  /** To be asked with each event of the range, in order. Full: the one for whom it is made has no more room. */
  see(work: Work): 'taken' | 'passed' | 'full';
  /** To be called once: every event of the range below this offset was seen. */
  end(seenBelow: number): void;
}

/** null: nobody has surplus and room. Turns are taken; those who come next to it in the log take theirs in the same pass. */
export function comeBackTo(of: {
  readonly laggards: Laggards;
  readonly memory: Memory;
  readonly hold: (by: Held, work: Work) => void;
  readonly offsetsMax: number;
  /** How far the partition was read. */
  readonly readTo: number;
}): ComeBack | null {
  const { laggards, memory, hold, offsetsMax, readTo } = of;
  const wanted = laggards.next(
    ({ held, next, nextBytes }) => next < readTo && isHungry(held, memory) && mayHold(held, nextBytes, memory),
  );
  if (wanted === null) return null;
  const from = wanted.next;
  const to = Math.min(wanted.to, from + offsetsMax, readTo);
  /** There was no room for the event at their `next`. */
  const full = new Set<Laggard>();

  function see(work: Work): 'taken' | 'passed' | 'full' {
    const { tenantId, offset, bytes } = work;
    const laggard = laggards.of(tenantId);
    if (laggard === undefined || !isBehind(laggard) || full.has(laggard)) return 'passed';
    // Of one whose next is before this range something lies between; of the others all from `next` on was seen here.
    if (laggard.next < from || laggard.next > offset) return 'passed';
    const by = laggards.heldBy(tenantId);
    if (wasFinished(laggard, offset)) {
      noteFinished(by, offset);
      moveOn(laggard, offset + 1);
      return 'passed';
    }
    if (!mayHold(by, bytes, memory)) {
      moveOn(laggard, offset);
      laggard.nextBytes = bytes;
      full.add(laggard);
      return laggard === wanted ? 'full' : 'passed';
    }
    hold(by, work);
    laggard.nextBytes = 0;
    moveOn(laggard, offset + 1);
    return 'taken';
  }

  function end(seenBelow: number): void {
    for (const laggard of laggards.all()) {
      const { next } = laggard;
      if (isBehind(laggard) && !full.has(laggard) && next >= from && next < seenBelow) moveOn(laggard, seenBelow);
      laggards.forgetIfDone(laggard);
    }
  }

  return { from, to, see, end };
}
