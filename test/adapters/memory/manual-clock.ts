// A clock that stands still until the test moves it; sleepers wake when their time has come.

import type { Clock } from '../../../src/ports/clock.ts';

export interface ManualClock extends Clock {
  /** Moves both clocks on and wakes who is due. */
  advance(ms: number): void;
  /** Who sleeps now. */
  sleepers(): number;
}

export function createManualClock(startMs = 1_000_000): ManualClock {
  let elapsed = 0;
  const sleeping = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    random: () => 0.5,
    randomBytes: (length) => new Uint8Array(length),
    uuidV7: () => new Uint8Array(16),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = {
          until: elapsed + ms,
          wake: () => {
            sleeping.delete(sleeper);
            resolve();
          },
        };
        sleeping.add(sleeper);
        if (signal?.aborted === true) sleeper.wake();
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      }),
    advance(ms) {
      elapsed += ms;
      for (const sleeper of sleeping) if (sleeper.until <= elapsed) sleeper.wake();
    },
    sleepers: () => sleeping.size,
  };
}
