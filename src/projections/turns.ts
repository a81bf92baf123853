// Who folds first where several read models share a thread: one that may lag folds one batch at a time and, while others have much to do, rests four times as
// long after each. So they keep four fifths of the thread, and what may lag catches up when they have.

import type { Clock } from '../ports/clock.ts';

export interface Turns {
  /** A read model that must not lag has folded so many events at once. */
  noted(entries: number): void;
  /** The next turn of one that may lag; it rests afterwards. The wait ends with the signal. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** A batch of so many events: whoever folds it is catching up, or under load. */
const busyEntries = 100;
const busyMs = 500;
const restsPerWork = 4;
const restMaxMs = 1000;

export function createTurns(clock: Clock): Turns {
  let busyUntil = -Infinity;
  let last: Promise<void> = Promise.resolve();
  return {
    noted(entries) {
      if (entries >= busyEntries) busyUntil = clock.monotonic() + busyMs;
    },
    async run(signal, work) {
      const before = last;
      const turn = Promise.withResolvers<void>();
      last = turn.promise;
      await before;
      const startedAt = clock.monotonic();
      try {
        return await work();
      } finally {
        const now = clock.monotonic();
        const rest = now < busyUntil ? Math.min(restsPerWork * (now - startedAt), restMaxMs) : 0;
        if (rest <= 0 || signal.aborted) turn.resolve();
        else void clock.sleep(rest, signal).then(turn.resolve);
      }
    },
  };
}
