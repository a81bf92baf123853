// How long a read may take in all: a store that is slow, but answers each of its calls, is told of all the same.

import { unavailable } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';

/** A list asks for versions, documents and their number, each up to 4.5 s by the timeouts of MongoDB's connection. */
const readMaxMs = 6_000;

/** The answer of the work, if it comes in time. @throws DomainError SERVICE_UNAVAILABLE when it doesn't; the work goes on to its own end */
export async function withinTime<T>(work: Promise<T>, clock: Pick<Clock, 'sleep'>, maxMs = readMaxMs): Promise<T> {
  const answered = new AbortController();
  const late = async (): Promise<T> => {
    await clock.sleep(maxMs, answered.signal);
    if (answered.signal.aborted) return work;
    throw unavailable('Reading takes too long at the moment. Try again.');
  };
  try {
    return await Promise.race([work, late()]);
  } finally {
    // Without a reason it would make an error with a stack.
    answered.abort('answered');
  }
}
