// How far a read model is: its stored position stays before what it has passed over (types that it doesn't want, events that retention has taken) until
// something is folded, or 10,000 were passed over. It is at the log's end all the same where nothing between the two is wanted.

import type { Topic } from '../domain/topics.ts';
import type { EventLog } from '../ports/event-log.ts';
import { passedMax } from './partition-fold.ts';
import type { ReadModel } from './read-model.ts';

/** What a read model passes over before it notes that by itself, and what it reads in the meantime. */
const unnotedMax = 2 * passedMax;

export interface Reach {
  /** `end` where nothing that is wanted lies from the stored position to it; else the stored position. What was looked through isn't read again. */
  reached(place: { readonly topic: Topic; readonly partition: number }, stored: number, end: number): Promise<number>;
}

/**
 * What is behind is looked at again and again, of each topic and number, and mostly the very first event is wanted: two pages of 1 MiB that a log elsewhere
 * would send ahead, 40 times in half a second, kept the brokers busier than all that was folded.
 */
const firstEvents = 8;
const firstBytes = 8 * 1024;

interface Looked {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

interface LookedThrough {
  /** Nothing below it, down to the stored position, is wanted. */
  to: number;
  /** Where something wanted was met. */
  wantedAt: number;
}

export function createReach({ log, readModel }: { log: Pick<EventLog, 'read'>; readModel: ReadModel }): Reach {
  const { types } = readModel;
  const looked = new Map<string, LookedThrough>();

  const firstWanted = async ({ from, to, ...place }: Looked): Promise<number | null> => {
    const firstTo = Math.min(to, from + firstEvents);
    for (const range of [
      { from, to: firstTo, aheadBytes: firstBytes },
      ...(firstTo < to ? [{ from: firstTo, to }] : []),
    ])
      for await (const { event, offset } of log.read({ ...place, ...range }))
        if (event === null || types?.has(event.type) !== false) return offset;
    return null;
  };

  return {
    async reached({ topic, partition }, stored, end) {
      if (stored >= end) return stored;
      const key = `${topic} ${partition}`;
      const known = looked.get(key) ?? { to: 0, wantedAt: -1 };
      looked.set(key, known);
      if (stored <= known.wantedAt) return stored;
      const from = Math.max(stored, known.to);
      // More than a read model passes over without a note: it is behind.
      if (end - stored > unnotedMax) return stored;
      const wanted = await firstWanted({ topic, partition, from, to: end });
      if (wanted === null) known.to = end;
      else known.wantedAt = wanted;
      return wanted === null ? end : stored;
    },
  };
}
