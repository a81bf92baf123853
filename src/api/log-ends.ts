// Where the log ends now, for streams that begin: many of them at once, after a cut, ask it together.

import type { Topic } from '../domain/topics.ts';
import { deliveriesTopic } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';

/** The offset that the next event gets, by topic and partition number. */
export type LogEnds = ReadonlyMap<Topic, readonly number[]>;

/**
 * Each call's answer was asked of the log after the call. Outcomes before what they are of: where an outcome is before the end, so is its request, however
 * far apart brokers answer. Where a request's end was asked first, its outcome could be known and itself come later, as the last word.
 */
export function createLogEnds(log: Pick<EventLog, 'ends'>, topics: readonly Topic[]): () => Promise<LogEnds> {
  return shared(async () => {
    const [outcomes, others] = [topics.filter(isOutcomes), topics.filter((topic) => !isOutcomes(topic))];
    return new Map([...(await endsOf(log, outcomes)), ...(await endsOf(log, others))]);
  });
}

function isOutcomes(topic: Topic): boolean {
  return topic === deliveriesTopic;
}

function endsOf(log: Pick<EventLog, 'ends'>, topics: readonly Topic[]) {
  return Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const));
}

/** One call at a time; all who ask while one runs share the next, which begins after they asked. */
function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | null = null;
  let next: Promise<T> | null = null;
  const start = (): Promise<T> => {
    const answer = call();
    const over = answer
      .catch(() => {})
      .finally(() => {
        if (running === over) running = null;
      });
    running = over;
    return answer;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(() => {
      next = null;
      return start();
    });
    return next;
  };
}
