// Listeners to what is appended from now on, by whomever: one fetcher for all listeners of a process, one reader for each topic that is listened to.
//
// Kafka can't say synchronously where a partition ends. So a topic is read from the first event on that the log took a second before the first listener
// came (clocks differ), and a listener isn't told what this process itself knew to be in the log at that time. So nothing is missed; of what other
// processes have appended within that second something may be told too.

import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LogEntry } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Names } from './client.ts';
import type { Fetcher } from './fetcher.ts';
import type { LogCluster } from './log-cluster.ts';
import { offsetsOf } from './offsets-asked.ts';
import { createReader, type ReaderDependencies } from './reader.ts';
import type { EntryDecoder } from './schemas.ts';

export interface TailDependencies {
  readonly names: Names;
  readonly decoder: EntryDecoder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly partitions: number;
  /** For offsets. */
  readonly cluster: LogCluster;
  /** Made when somebody listens first. */
  fetcher(): Fetcher;
}

export interface Tail {
  listen(topics: readonly Topic[], listener: (entry: LogEntry) => void): () => void;
  /** This process knows that the partition ends at `end` or later. */
  noteEnd(topic: Topic, partition: number, end: number): void;
  close(): void;
}

interface Listener {
  readonly tell: (entry: LogEntry) => void;
  /** By topic and number, the least offset that it is told; absent: any. */
  readonly from: ReadonlyMap<Topic, readonly number[]>;
}

interface Followed {
  readonly listeners: Set<Listener>;
  readonly ending: AbortController;
}

/** How much the clocks of broker and process may differ. */
const clockSkewMs = 1_000;
const takeLimits = { eventsMax: 256, bytesMax: 256 * 1024 };
/** Before another try, when the log can't be read. */
const retryMs = 500;

export function createTail(deps: TailDependencies): Tail {
  const { names, decoder, clock, logger, partitions, cluster } = deps;
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  const followed = new Map<Topic, Followed>();
  /** Known ends, by topic and number. */
  const ends = new Map<Topic, number[]>();

  const noteEnd = (topic: Topic, partition: number, end: number) => {
    const known = ends.get(topic) ?? numbers.map(() => 0);
    known[partition] = Math.max(known[partition] ?? 0, end);
    ends.set(topic, known);
  };

  const tell = (entry: LogEntry, listeners: ReadonlySet<Listener>) => {
    noteEnd(entry.topic, entry.partition, entry.offset + 1);
    for (const listener of listeners) {
      if (entry.offset < (listener.from.get(entry.topic)?.[entry.partition] ?? 0)) continue;
      try {
        listener.tell(entry);
      } catch (error) {
        logger.error('a listener to the end of the event log failed', { err: error });
      }
    }
  };

  /** Where to begin: the first event since `sinceMs`, else the end as it was before that was asked. */
  const startsOf = async (topic: Topic, sinceMs: number) => {
    const places = numbers.map((partition) => ({ topic: names.topic(topic), partition }));
    const asked = await offsetsOf(cluster, places, 'end');
    const since = await offsetsOf(cluster, places, sinceMs);
    return numbers.map((partition) => {
      const [end = 0, first = -1] = [asked[partition], since[partition]];
      return { topic, name: names.topic(topic), partition, offset: first < 0 ? end : first };
    });
  };

  const follow = async (topic: Topic, { listeners, ending: { signal } }: Followed): Promise<void> => {
    const sinceMs = clock.now() - clockSkewMs;
    const starts = await untilItWorks(signal, () => startsOf(topic, sinceMs));
    if (starts === null || signal.aborted) return;
    const reading: ReaderDependencies = {
      fetcher: deps.fetcher(),
      decoder,
      clock,
      logger,
      inOrderOfTime: false,
      bounds: (places, at) => offsetsOf(cluster, places, at),
    };
    const reader = createReader(reading, signal, starts);
    while (!signal.aborted) {
      const entries = await untilItWorks(signal, () => reader.take(takeLimits));
      for (const entry of entries ?? []) if (!signal.aborted) tell(entry, listeners);
    }
  };

  const untilItWorks = async <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T | null> => {
    while (!signal.aborted) {
      try {
        return await ask();
      } catch (error) {
        if (!signal.aborted) logger.error('the end of the event log could not be read', { err: error });
        await clock.sleep(retryMs, signal);
      }
    }
    return null;
  };

  const followedOf = (topic: Topic): Followed => {
    const known = followed.get(topic);
    if (known !== undefined) return known;
    const one: Followed = { listeners: new Set(), ending: new AbortController() };
    followed.set(topic, one);
    void follow(topic, one);
    return one;
  };

  return {
    noteEnd,

    listen(topics, tellOne) {
      const from = new Map(topics.map((topic) => [topic, [...(ends.get(topic) ?? [])]]));
      const listener: Listener = { tell: tellOne, from };
      for (const topic of topics) followedOf(topic).listeners.add(listener);
      return () => {
        for (const topic of topics) {
          const one = followed.get(topic);
          if (one?.listeners.delete(listener) !== true || one.listeners.size > 0) continue;
          one.ending.abort();
          followed.delete(topic);
        }
      };
    },

    close() {
      for (const { ending } of followed.values()) ending.abort();
      followed.clear();
    },
  };
}
