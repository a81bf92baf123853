// Reads some partitions onwards for one taker: a bounded queue that a fetcher fills, handed out the oldest event first, each partition in its order.
// What waits is kept as bytes, a quarter of what the events are, and decoded when it is taken.

import type { EventType } from '../../domain/events.ts';
import type { Topic } from '../../domain/topics.ts';
import type { LogEntry, PartitionReader } from '../../ports/event-log.ts';
import type { Fetcher, FetchSource } from './fetcher.ts';
import type { FetchedPartition } from './fetch-wire.ts';
import { readRecords, type StoredRecord } from './record-batch.ts';
import { createRecordQueue, type RecordQueue } from './record-queue.ts';
import type { EntryDecoder } from './schemas.ts';

export interface ReaderDependencies {
  readonly fetcher: Fetcher;
  readonly decoder: EntryDecoder;
  /** Types that are worth decoding; absent: all. */
  readonly types?: ReadonlySet<EventType> | undefined;
  /** The ends of these partitions as they are now. @throws Error when they can't be asked */
  ends(of: readonly ReadFrom[]): Promise<readonly number[]>;
}

export interface ReadFrom {
  readonly topic: Topic;
  /** What the brokers call it. */
  readonly name: string;
  readonly partition: number;
  readonly offset: number;
}

/**
 * Of one reader; past it its sources are not fetched, until half is taken. 256 KiB x 36 readers of a dispatcher x 4 dispatchers are 36 MiB when all of
 * them are flooded, and some 400 events are plenty for the 20 ms until the next fetch.
 */
const queueBytesMax = 256 * 1024;
const queueEventsMax = 2_000;

interface Source extends FetchSource {
  readonly from: ReadFrom;
  offset: number;
  readonly queue: RecordQueue;
  failure: Error | null;
}

/** @param signal of the claim: once it aborts, take answers with nothing */
export function createReader(
  { fetcher, decoder, types, ends }: ReaderDependencies,
  signal: AbortSignal,
  from: readonly ReadFrom[],
): PartitionReader {
  let bytes = 0;
  let events = 0;
  let isFull = false;
  const waiting = new Set<() => void>();

  const change = () => new Promise<void>((resolve) => waiting.add(resolve));
  const changed = () => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  const isWanted = ({ value }: StoredRecord): boolean => {
    if (types === undefined) return true;
    const type = decoder.typeOf(value);
    return type === undefined || type === null || types.has(type as EventType);
  };

  const deliver = (source: Source, fetched: FetchedPartition) => {
    try {
      const { records, next } = readRecords(fetched.bytes, source.offset);
      source.offset = next;
      const added = source.queue.push(records.filter(isWanted));
      bytes += added.bytes;
      events += added.events;
      if (bytes >= queueBytesMax || events >= queueEventsMax) isFull = true;
    } catch (error) {
      source.failure = error instanceof Error ? error : new Error(String(error));
    }
    changed();
  };

  const sources = from.map((place): Source => {
    const source: Source = {
      from: place,
      topic: place.name,
      partition: place.partition,
      offset: place.offset,
      queue: createRecordQueue(),
      failure: null,
      get wants() {
        return !isFull && source.failure === null;
      },
      deliver: (fetched) => deliver(source, fetched),
      fail(error) {
        source.failure = error;
        changed();
      },
    };
    return source;
  });

  const shift = (source: Source) => {
    const record = source.queue.shift();
    bytes -= record?.value.length ?? 0;
    events--;
    if (isFull && bytes <= queueBytesMax / 2 && events <= queueEventsMax / 2) {
      isFull = false;
      fetcher.wake();
    }
  };

  const oldest = (): { source: Source; record: StoredRecord } | null => {
    let found: { source: Source; record: StoredRecord } | null = null;
    for (const source of sources) {
      const record = source.queue.head;
      if (record !== undefined && (found === null || record.appendedAt < found.record.appendedAt)) {
        found = { source, record };
      }
    }
    return found;
  };

  /** Of the records that wait: as many as fit, decoded; null when the first one is of a schema to be learned. */
  const pull = (eventsMax: number, bytesMax: number): LogEntry[] | StoredRecord => {
    const entries: LogEntry[] = [];
    for (let size = 0; entries.length < eventsMax && size < bytesMax;) {
      const head = oldest();
      if (head === null) break;
      const { source, record } = head;
      if (decoder.typeOf(record.value) === undefined) {
        if (entries.length > 0) break;
        return record;
      }
      if (isWanted(record)) {
        const entry = decodeOr(source, record, entries.length > 0);
        if (entry === null) break;
        size += entry.size;
        entries.push(entry);
      }
      shift(source);
    }
    return entries;
  };

  /** null instead of an error when there are entries to hand out first: the error comes with the next call. */
  const decodeOr = ({ from: { topic, partition } }: Source, record: StoredRecord, orNull: boolean) => {
    try {
      return decoder.decode({ topic, partition, ...record });
    } catch (error) {
      if (orNull) return null;
      throw error;
    }
  };

  const throwFailure = () => {
    for (const source of sources) {
      const { failure } = source;
      if (failure === null || source.queue.head !== undefined) continue;
      // It is fetched again from where it stood, so that the call can be repeated.
      source.failure = null;
      fetcher.wake();
      throw failure;
    }
  };

  signal.addEventListener(
    'abort',
    () => {
      fetcher.remove(sources);
      changed();
    },
    { once: true },
  );
  if (!signal.aborted) fetcher.add(sources);

  return {
    async take({ eventsMax, bytesMax }) {
      for (;;) {
        if (signal.aborted) return [];
        throwFailure();
        const pulled = pull(eventsMax, bytesMax);
        if (!Array.isArray(pulled)) await decoder.learn(pulled.value);
        else if (pulled.length > 0) return pulled;
        else await change();
      }
    },

    async atEnd() {
      const asked = await ends(from);
      for (;;) {
        if (signal.aborted) return false;
        throwFailure();
        const heads = sources.map(({ queue }) => queue.head);
        const unknown = heads.find((record) => record !== undefined && decoder.typeOf(record.value) === undefined);
        if (unknown !== undefined) {
          await decoder.learn(unknown.value);
          for (const source of sources) while (source.queue.head && !isWanted(source.queue.head)) shift(source);
          continue;
        }
        if (heads.some((record, i) => record !== undefined && record.offset < (asked[i] ?? 0))) return false;
        if (sources.every(({ offset }, i) => offset >= (asked[i] ?? 0))) return true;
        if (isFull) return false;
        await change();
      }
    },
  };
}
