// A line for each caller: some are answered at once, then one after another.
//
//   of a caller    [ so many at once ][ then one in so many ms, so late at most ]
//
// Who waits for an answer asks for nothing more.

import type { Clock } from '../ports/clock.ts';

export interface LineLimits {
  readonly atOnce: number;
  readonly lateMaxMs: number;
  /** Of all callers together; what is beyond it is answered at once. */
  readonly waitingMax: number;
}

export interface AnswerLine<Caller> {
  /** Resolves when the caller may be answered. @param everyMs the time that this answer takes of his line */
  turnOf(caller: Caller, everyMs: number): Promise<void>;
  /** How many wait. */
  waiting(): number;
}

/** Of callers who asked within the last seconds; whoever is forgotten begins anew. */
const callersMax = 10_000;

export function createAnswerLine<Caller>(
  { atOnce, lateMaxMs, waitingMax }: LineLimits,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
): AnswerLine<Caller> {
  /** When all that a caller asked so far would have been answered, one after another; who asked last is the last. */
  const answeredAt = new Map<Caller, number>();
  let waiting = 0;

  function forget(now: number): void {
    for (const [caller, at] of answeredAt) {
      if (at > now && answeredAt.size <= callersMax) return;
      answeredAt.delete(caller);
    }
  }

  return {
    waiting: () => waiting,
    async turnOf(caller, everyMs) {
      const now = clock.monotonic();
      const before = Math.max(now, answeredAt.get(caller) ?? now);
      const lateMs = Math.min(before - now - atOnce * everyMs, lateMaxMs);
      answeredAt.delete(caller);
      answeredAt.set(caller, now + Math.min(before - now, atOnce * everyMs + lateMaxMs) + everyMs);
      forget(now);
      if (lateMs <= 0 || waiting >= waitingMax) return;
      waiting++;
      await clock.sleep(lateMs);
      waiting--;
    },
  };
}
