// Where the log ends when numbers are taken: what comes behind is new to whoever takes them.

import type { Topic } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';
import { nextTurn } from './next-turn.ts';

/** The end of a partition at some moment after the call. Never rejects: Infinity where the log can't say. */
export type EndsNow = (of: { readonly topic: Topic; readonly partition: number }) => Promise<number>;

/** A topic is asked once for all numbers that are taken in one turn of the event loop. */
export function createEndsNow(log: Pick<EventLog, 'ends'>): EndsNow {
  const asked = new Map<Topic, Promise<readonly number[]>>();

  async function ask(topic: Topic): Promise<readonly number[]> {
    await nextTurn();
    asked.delete(topic);
    return log.ends(topic);
  }

  return async ({ topic, partition }) => {
    const ends = asked.get(topic) ?? ask(topic);
    asked.set(topic, ends);
    try {
      return (await ends)[partition] ?? Infinity;
    } catch {
      return Infinity;
    }
  };
}
