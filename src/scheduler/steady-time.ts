// A time that follows the wall clock forwards and never back: what was meant as a delay ends by it, however the wall clock is set meanwhile.

import type { Clock } from '../ports/clock.ts';

export interface SteadyTime {
  /** UTC ms, never less than before. */
  now(): number;
  /** Something has happened at that time: it is past. */
  seen(at: number): void;
}

export function createSteadyTime(clock: Pick<Clock, 'now' | 'monotonic'>): SteadyTime {
  /** From the monotonic clock to this one. */
  let aheadMs = -Infinity;
  return {
    now() {
      const monotonic = clock.monotonic();
      aheadMs = Math.max(aheadMs, clock.now() - monotonic);
      return aheadMs + monotonic;
    },
    seen(at) {
      aheadMs = Math.max(aheadMs, at - clock.monotonic());
    },
  };
}
