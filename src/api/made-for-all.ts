// What many ask for at once is made once for all of them, and then the thread rests from it.
//
//   asked -> make, for all who ask meanwhile ──> rest, four times as long, 250 ms at most ──> make, for all who asked meanwhile

import type { Clock } from '../ports/clock.ts';

/** About a fifth of the thread goes into it at most. */
const restPerMade = 4;
const restMaxMs = 250;

/** Whoever asks while it is made has that: nobody waits for it twice, however long it takes. */
export function madeForAll<T>(make: () => Promise<T>, clock: Pick<Clock, 'monotonic' | 'sleep'>): () => Promise<T> {
  let rested = Promise.resolve();
  let current: Promise<T> | null = null;

  const makeRested = async (): Promise<T> => {
    await rested;
    const since = clock.monotonic();
    try {
      return await make();
    } finally {
      current = null;
      rested = clock.sleep(Math.min(restPerMade * (clock.monotonic() - since), restMaxMs));
    }
  };
  return () => (current ??= makeRested());
}
