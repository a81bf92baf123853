// Listeners to what is appended from now on: told of a flush by the thread that wrote it, without another read.

import type { Topic } from '../../../domain/topics.ts';
import type { LogEntry } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Catalog } from './catalog.ts';
import type { Append } from './writer.ts';

type Listener = (entry: LogEntry) => void;

export interface Tail {
  listen(topics: readonly Topic[], listener: Listener): () => void;
  tell(events: readonly Append[], appendedAt: number): void;
}

export function createTail({
  catalog,
  logger,
  entryOf,
}: {
  catalog: Catalog;
  logger: Logger;
  entryOf: (append: Append, appendedAt: number) => LogEntry;
}): Tail {
  const { partitions } = catalog.partitioning;
  const listeners = catalog.topics.map(() => new Set<Listener>());
  let count = 0;

  const tellOne = (append: Append, appendedAt: number, told: ReadonlySet<Listener>) => {
    try {
      const entry = entryOf(append, appendedAt);
      for (const listener of told) listener(entry);
    } catch (error) {
      logger.error('a listener to the end of the event log failed', { err: error });
    }
  };

  return {
    listen(topics, listener) {
      const sets = topics.map((topic) => listeners[catalog.slotOf(topic, 0) / partitions]);
      // A listener of its own, so that the same function may listen twice.
      const own: Listener = (entry) => listener(entry);
      for (const set of sets) set?.add(own);
      count++;
      return () => {
        for (const set of sets) set?.delete(own);
        count--;
      };
    },
    tell(events, appendedAt) {
      if (count === 0) return;
      for (const append of events) {
        const told = listeners[Math.floor(append.slot / partitions)];
        if (told !== undefined && told.size > 0) tellOne(append, appendedAt, told);
      }
    },
  };
}
