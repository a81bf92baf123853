// A range of one partition, fetched page by page; the next page while this one is handed out, unless little is to be held.

import type { EventType } from '../../domain/events.ts';
import type { Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventHead, LogEntry } from '../../ports/event-log.ts';
import type { SurveyedPage, SurveyedRange } from '../../ports/log-survey.ts';
import { pageOf } from '../../ports/log-survey.ts';
import { backOffMs } from './back-off.ts';
import type { FetchedPartition } from './fetch-wire.ts';
import { describeFetchError, isStaleMetadata, offsetOutOfRange } from './kafka-errors.ts';
import type { LogCluster } from './log-cluster.ts';
import { offsetsOf, type Place } from './offsets-asked.ts';
import { readRecords, type RecordSet } from './record-batch.ts';
import type { EntryDecoder } from './schemas.ts';

export interface RangeDependencies {
  readonly cluster: LogCluster;
  readonly decoder: EntryDecoder;
  readonly clock: Clock;
}

export interface Range {
  readonly topic: Topic;
  /** What the brokers call it. */
  readonly name: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** Of a page, about: then the next one is asked for once this one is handed out. */
  readonly aheadBytes?: number | undefined;
  /** Of what this says it of nothing is told. */
  isPassedOver(head: EventHead | null): boolean;
}

/** Some 1,500 events of 600 bytes; two pages of a range are in memory. */
const pageBytes = 1024 * 1024;
/** So few events are asked for by less: what one event takes at most in most cases (a larger batch comes whole anyway). */
const eventBytes = 16 * 1024;
/** Together 9 s: as long as a leader's successor takes. */
const triesMax = 9;

interface Page extends RecordSet {
  /** Nothing is behind it. */
  readonly isLast: boolean;
}

/** @throws Error when the log can't be read, or a schema isn't known */
export async function* readRange(deps: RangeDependencies, range: Range): AsyncGenerator<LogEntry> {
  const { decoder } = deps;
  const { topic, partition, to } = range;
  for await (const { records } of pagesOf(deps, range)) {
    for (const record of records) {
      if (record.offset >= to) return;
      if (decoder.typeOf(record.value) === undefined) await decoder.learn(record.value);
      const entry = decoder.decode({ topic, partition, ...record });
      if (!range.isPassedOver(entry.head)) yield entry;
    }
  }
}

/** A page for each that is fetched; of types that aren't wanted no event is looked at. @throws Error as readRange does */
export async function* surveyRange(
  deps: RangeDependencies,
  range: Range,
  types: SurveyedRange['types'],
): AsyncGenerator<SurveyedPage> {
  const { decoder } = deps;
  const { topic, partition, to } = range;
  for await (const { records, next } of pagesOf(deps, range)) {
    const entries: LogEntry[] = [];
    for (const record of records) {
      if (record.offset >= to) break;
      if (decoder.typeOf(record.value) === undefined) await decoder.learn(record.value);
      const type = decoder.typeOf(record.value);
      // What is no event has no type, and counts for nobody.
      if (types?.has(type as EventType) === false) continue;
      const entry = decoder.decode({ topic, partition, ...record });
      if (!range.isPassedOver(entry.head)) entries.push(entry);
    }
    yield { ...pageOf(entries, types), to: Math.min(next, to) };
  }
}

async function* pagesOf(deps: RangeDependencies, range: Range): AsyncGenerator<Page> {
  const { to, aheadBytes } = range;
  let coming: Promise<Page> | null = null;
  let from: number | null = range.from;
  while (from !== null && from < to) {
    const page: Page = await (coming ?? fetchPage(deps, range, from));
    from = page.isLast ? null : page.next;
    coming = aheadBytes !== undefined || from === null || from >= to ? null : fetchPage(deps, range, from);
    // Somebody awaits it, unless the reader stops before.
    coming?.catch(() => {});
    yield page;
  }
}

async function fetchPage(deps: RangeDependencies, range: Range, from: number): Promise<Page> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetchOnce(deps, range, from);
    } catch (error) {
      if (tries >= triesMax || !(error instanceof TryAgainError)) throw unwrap(error);
    }
    await deps.clock.sleep(backOffMs(tries));
    await deps.cluster.refresh().catch(() => {});
  }
}

async function fetchOnce({ cluster }: RangeDependencies, range: Range, from: number): Promise<Page> {
  const { name, partition, to } = range;
  const fetched = await onLeader(cluster, range, from);
  switch (fetched.errorCode) {
    case 0: {
      const set = readRecords(fetched.bytes, from);
      return { ...set, isLast: set.next >= Math.min(to, fetched.highWatermark) };
    }
    case offsetOutOfRange: {
      const place = { topic: name, partition };
      const end = await boundOf(cluster, place, 'end');
      if (from >= end) return { records: [], next: from, isLast: true };
      const start = await boundOf(cluster, place, 'start');
      if (from >= start) throw describeFetchError(fetched.errorCode, fetched);
      // What was before is deleted: the range holds what there is.
      return { records: [], next: start, isLast: start >= to };
    }
    default: {
      const error = describeFetchError(fetched.errorCode, fetched);
      throw isStaleMetadata(fetched.errorCode) ? new TryAgainError(error) : error;
    }
  }
}

async function onLeader(
  cluster: LogCluster,
  { name, partition, to, aheadBytes = pageBytes }: Range,
  from: number,
): Promise<FetchedPartition> {
  const bytes = Math.min(aheadBytes, (to - from) * eventBytes);
  try {
    await cluster.connect();
    const leader = cluster.leaderOf(name, partition);
    if (leader === null) throw new Error(`no broker leads ${name}, partition ${partition}, now`);
    const answer = await cluster.fetch(leader, {
      waitMaxMs: 0,
      bytesMin: 0,
      bytesMax: bytes,
      partitionBytesMax: bytes,
      sessionId: 0,
      sessionEpoch: -1,
      partitions: [{ topic: name, partition, offset: from }],
      forgotten: [],
    });
    const [fetched] = answer.partitions;
    if (fetched === undefined) throw new Error(`${name}, partition ${partition}: the broker says nothing of it`);
    return fetched;
  } catch (error) {
    throw new TryAgainError(error);
  }
}

async function boundOf(cluster: LogCluster, place: Place, at: 'start' | 'end'): Promise<number> {
  try {
    const [offset = 0] = await offsetsOf(cluster, [place], at);
    return offset;
  } catch (error) {
    throw new TryAgainError(error);
  }
}

/** What another broker, or the same one in a while, may do. */
class TryAgainError extends Error {
  constructor(cause: unknown) {
    super('the log can not be read now', { cause });
    this.name = 'TryAgainError';
  }
}

function unwrap(error: unknown): unknown {
  return error instanceof TryAgainError ? error.cause : error;
}
