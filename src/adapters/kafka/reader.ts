// Reads some partitions onwards for one taker: bounded queues that a fetcher fills, handed out the oldest event first, each partition in its order.
// What waits is kept as bytes, a quarter of what the events are, and decoded when it is taken.
//
// Who catches up gets the topics of a number side by side as they grew, so that a notification's events come in one batch: while a partition is known
// to hold more than was fetched of it, nothing of the others is handed out, for half a second at most.

import type { EventType } from '../../domain/events.ts';
import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import { sayDeleted } from '../../ports/deleted-events.ts';
import type { ConsumeOptions, LogEntry, PartitionReader } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { FetchSource } from './fetch-sources.ts';
import type { Fetcher } from './fetcher.ts';
import type { FetchedPartition } from './fetch-wire.ts';
import { OffsetOutOfRangeError } from './kafka-errors.ts';
import type { Place } from './offsets-asked.ts';
import { readRecords, type StoredRecord } from './record-batch.ts';
import { createOldest, positionOf } from './oldest.ts';
import { createRecordQueue, type RecordQueue } from './record-queue.ts';
import type { EntryDecoder } from './schemas.ts';

export interface ReaderDependencies {
  readonly fetcher: Fetcher;
  readonly decoder: EntryDecoder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the oldest event of all partitions comes first also when it still has to be fetched; else the oldest of those that are here. */
  readonly inOrderOfTime: boolean;
  /** Types that are worth decoding; absent: all. */
  readonly types?: ReadonlySet<EventType> | undefined;
  readonly deleted?: ConsumeOptions['deleted'];
  readonly afterOthers?: ConsumeOptions['afterOthers'];
  /** Where these partitions begin or end now. @throws Error when it can't be asked */
  bounds(of: readonly Place[], at: 'start' | 'end'): Promise<readonly number[]>;
}

export interface ReadFrom {
  readonly topic: Topic;
  /** What the brokers call it. */
  readonly name: string;
  readonly partition: number;
  readonly offset: number;
}

/**
 * Of one source; past it it is not fetched, until half is taken. 256 KiB x 36 readers of a dispatcher x 4 dispatchers are 36 MiB when all of them are
 * flooded, and some 400 events are plenty for the 20 ms until the next fetch. A reader of many partitions has 768 KiB for all.
 */
export function sourceBytesMax(sources: number): number {
  return Math.min(256 * 1024, Math.floor((768 * 1024) / sources));
}
/** Events are 128 bytes and more; smaller ones are bounded by their number. */
const bytesPerEventMin = 128;

/** Then a partition whose broker doesn't answer holds up the others no longer. */
const behindMaxMs = 500;

interface Source extends FetchSource {
  readonly from: ReadFrom;
  offset: number;
  /** As the last answer said; before the first one there may be anything. */
  end: number;
  readonly queue: RecordQueue;
  bytes: number;
  events: number;
  isFull: boolean;
  /** Its offset is gone, and it is asked where the partition begins by now. */
  isLost: boolean;
  failure: Error | null;
}

type TakeLimits = Parameters<PartitionReader['take']>[0];

/** Why no more was pulled. */
type Pulled =
  | { readonly kind: 'full' | 'drained' | 'behind' }
  | { readonly kind: 'unknown schema'; readonly record: StoredRecord };

/** @param signal of the claim: once it aborts, take answers with nothing */
export function createReader(
  { fetcher, decoder, clock, logger, inOrderOfTime, types, deleted, afterOthers, bounds }: ReaderDependencies,
  signal: AbortSignal,
  from: readonly ReadFrom[],
): PartitionReader {
  const bytesMax = sourceBytesMax(from.length);
  const eventsMax = bytesMax / bytesPerEventMin;
  const waiting = new Set<() => void>();

  const change = () => new Promise<void>((resolve) => waiting.add(resolve));
  const changed = () => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  const changeWithin = async (ms: number): Promise<void> => {
    const waited = new AbortController();
    await Promise.race([change(), clock.sleep(ms, waited.signal)]);
    // Without a reason it would be an error with a stack, for every batch.
    waited.abort(null);
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
      source.end = fetched.highWatermark;
      const added = source.queue.push(records.filter(isWanted));
      source.bytes += added.bytes;
      source.events += added.events;
      if (source.bytes >= bytesMax || source.events >= eventsMax) source.isFull = true;
    } catch (error) {
      source.failure = asError(error);
    }
    changed();
  };

  /** What was to be read next was deleted: goes on from where the log begins, and says so. Never rejects. */
  const goOnFromStart = async (source: Source, outOfRange: OffsetOutOfRangeError): Promise<void> => {
    source.isLost = true;
    try {
      const [start = 0] = await bounds([source], 'start');
      if (start <= source.offset) throw outOfRange;
      const { topic, partition, offset } = source;
      sayDeleted(logger, deleted, { topic, partition, offset, start });
      source.offset = start;
    } catch (error) {
      source.failure = asError(error);
    }
    source.isLost = false;
    changed();
    fetcher.wake();
  };

  const sources = from.map((place): Source => {
    const source: Source = {
      from: place,
      topic: place.name,
      partition: place.partition,
      offset: place.offset,
      end: Infinity,
      queue: createRecordQueue(),
      bytes: 0,
      events: 0,
      isFull: false,
      isLost: false,
      failure: null,
      get wants() {
        return !source.isFull && !source.isLost && source.failure === null;
      },
      deliver: (fetched) => deliver(source, fetched),
      fail(error) {
        if (error instanceof OffsetOutOfRangeError) void goOnFromStart(source, error);
        else source.failure = error;
        changed();
      },
    };
    return source;
  });

  const shift = (source: Source) => {
    const record = source.queue.shift();
    source.bytes -= record?.value.length ?? 0;
    source.events--;
    if (source.isFull && source.bytes <= bytesMax / 2 && source.events <= eventsMax / 2) {
      source.isFull = false;
      fetcher.wake();
    }
  };

  /** It holds more than is here of it. */
  const isBehind = ({ queue, failure, offset, end }: Source): boolean =>
    queue.head === undefined && failure === null && offset < end;

  const oldest = createOldest({
    sources,
    isLast: ({ from: { topic } }) => afterOthers?.has(topic) === true,
    headOf: ({ source, record }) => decodeOr(source, record, true)?.head ?? null,
  });

  /** Adds to `entries` what waits, as much as fits, decoded. @throws Error only while there are none */
  const pull = (entries: LogEntry[], limits: TakeLimits, waitsForAll: boolean): Pulled => {
    let size = 0;
    for (const entry of entries) size += entry.size;
    while (entries.length < limits.eventsMax && size < limits.bytesMax) {
      if (waitsForAll && sources.some(isBehind)) return { kind: 'behind' };
      const head = oldest();
      if (head === null) return { kind: 'drained' };
      const { source, record } = head;
      if (decoder.typeOf(record.value) === undefined) return { kind: 'unknown schema', record };
      if (isWanted(record)) {
        const entry = decodeOr(source, record, entries.length > 0);
        if (entry === null) break;
        size += entry.size;
        entries.push(entry);
      }
      shift(source);
    }
    return { kind: 'full' };
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

  const reached = () => sources.reduce((sum, source) => sum + positionOf(source), 0);
  /** The sum of the positions at the last answer. */
  let told = reached();

  let isOver = signal.aborted;
  const end = () => {
    isOver = true;
    fetcher.remove(sources);
    changed();
  };
  signal.addEventListener('abort', end, { once: true });
  if (!isOver) fetcher.add(sources);

  return {
    position: () => new Map(sources.map((source) => [source.from.topic, positionOf(source)])),

    async take(limits) {
      const { passedMax = Infinity } = limits;
      const entries: LogEntry[] = [];
      let patienceUntil = inOrderOfTime ? Infinity : 0;
      for (;;) {
        if (isOver) return [];
        if (entries.length === 0) throwFailure();
        const pulled = pull(entries, limits, clock.monotonic() < patienceUntil);
        if (pulled.kind === 'behind') {
          patienceUntil = Math.min(patienceUntil, clock.monotonic() + behindMaxMs);
          await changeWithin(patienceUntil - clock.monotonic());
        } else if (entries.length > 0 || reached() - told >= passedMax) {
          told = reached();
          return entries;
        } else if (pulled.kind === 'unknown schema') await decoder.learn(pulled.record.value);
        else await change();
      }
    },

    async atEnd() {
      const asked = await bounds(sources, 'end');
      for (;;) {
        if (isOver) return false;
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
        await change();
      }
    },

    close() {
      signal.removeEventListener('abort', end);
      end();
    },
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
