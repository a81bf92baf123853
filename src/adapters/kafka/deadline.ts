// An end to waiting: what takes longer than it may counts as failed.

import type { Clock } from '../../ports/clock.ts';

/** A reason of its own: the one that Node makes has a stack, which takes longer than all the rest. */
const isDone = 'done';

/** The promise's own outcome, or after `ms` an error that names `what`. */
export async function withDeadline<T>(clock: Clock, ms: number, what: string, promise: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = async (): Promise<never> => {
    await clock.sleep(ms, done.signal);
    throw new Error(`${what}: nothing came within ${ms} ms`);
  };
  const lateness = late();
  lateness.catch(() => {});
  try {
    return await Promise.race([promise, lateness]);
  } finally {
    done.abort(isDone);
  }
}
