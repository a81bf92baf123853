// The partitions that a fetcher reads, one source each, and what a request asked for them: whose an answer still is.

import { keyOf } from './fetch-session.ts';
import type { FetchedPartition, FetchPartition } from './fetch-wire.ts';
import type { LogCluster } from './log-cluster.ts';
import type { PartitionRests } from './partition-rests.ts';

/** One partition that is read from some offset on. */
export interface FetchSource {
  /** As the brokers call it. */
  readonly topic: string;
  readonly partition: number;
  /** The offset to fetch next. */
  readonly offset: number;
  /** Whether there is room for more. */
  readonly wants: boolean;
  deliver(fetched: FetchedPartition): void;
  /** It can't be read there; it is asked for again once it wants. */
  fail(error: Error): void;
}

/** What a request asks for, by key: a copy, since a source's offset moves on. */
export type Asked = ReadonlyMap<string, FetchPartition & { readonly source: FetchSource }>;

export function createFetchSources(
  cluster: Pick<LogCluster, 'leaderOf'>,
  rests: Pick<PartitionRests<FetchedPartition>, 'leftMs'>,
) {
  const sources = new Map<string, FetchSource>();
  return {
    isEmpty: () => sources.size === 0,

    /** One of a partition that has one already takes its place: the old one fails. */
    add(added: readonly FetchSource[]): void {
      for (const source of added) {
        const key = keyOf(source);
        sources
          .get(key)
          ?.fail(new Error(`another reader has taken over ${source.topic}, partition ${source.partition}`));
        sources.set(key, source);
      }
    },

    /** Answers with those that were there: of the others somebody else's has taken the place. */
    remove: (removed: readonly FetchSource[]): FetchSource[] =>
      removed.filter((source) => sources.get(keyOf(source)) === source && sources.delete(keyOf(source))),

    clear: () => sources.clear(),

    /** Of each source; null: it has none. */
    leaders: (): (number | null)[] =>
      [...sources.values()].map(({ topic, partition }) => cluster.leaderOf(topic, partition)),

    /** How many the node leads, those that want to be fetched now, and in how many ms the next one that rests will; Infinity: none does. */
    of(leader: number): { led: number; wanted: Asked; restMs: number } {
      let led = 0;
      let restMs = Infinity;
      const wanted = new Map<string, FetchPartition & { readonly source: FetchSource }>();
      for (const [key, source] of sources) {
        const { topic, partition } = source;
        if (cluster.leaderOf(topic, partition) !== leader) continue;
        led++;
        if (!source.wants) continue;
        const leftMs = rests.leftMs(source);
        if (leftMs === 0) wanted.set(key, { topic, partition, offset: source.offset, source });
        else restMs = Math.min(restMs, leftMs);
      }
      return { led, wanted, restMs };
    },

    /** null: the partition has another source by now, or none, or the source has moved on. */
    stillAsking(asked: Asked, key: string): FetchSource | null {
      const of = asked.get(key);
      return of !== undefined && sources.get(key) === of.source && of.source.offset === of.offset ? of.source : null;
    },
  };
}

/** Whether a partition of both has changed hands. */
export function hasOtherSource(before: Asked, now: Asked): boolean {
  for (const [key, { source }] of now) if ((before.get(key)?.source ?? source) !== source) return true;
  return false;
}
