// What many ask for at once is made once for all of them, and then the thread rests from it.
//
//   asked -> make ──────> rest, four times as long, 250 ms at most ──> make, for all who asked meanwhile

import type { Clock } from '../ports/clock.ts';

/** A fifth of the thread at most goes into it. */
const restPerMade = 4;
const restMaxMs = 250;

/** Whoever asks has what was made after he asked. */
export function madeForAll<T>(make: () => Promise<T>, clock: Pick<Clock, 'monotonic' | 'sleep'>): () => Promise<T> {
  let rested: Promise<void> | null = null;
  let next: Promise<T> | null = null;

  const makeNow = (): Promise<T> => {
    const since = clock.monotonic();
    const made = make();
    const rest = () => clock.sleep(Math.min(restPerMade * (clock.monotonic() - since), restMaxMs));
    rested = made.then(rest, rest).then(() => {
      if (next === null) rested = null;
    });
    return made;
  };

  return () => {
    if (next !== null) return next;
    if (rested === null) return makeNow();
    next = rested.then(() => {
      next = null;
      return makeNow();
    });
    return next;
  };
}
