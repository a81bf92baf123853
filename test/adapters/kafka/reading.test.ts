// Reading while partitions change hands: answers to requests that are still out, held back here for as long as the test likes, skip nothing.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { FetchAnswer, FetchedPartition, FetchRequest } from '../../../src/adapters/kafka/fetch-wire.ts';
import type { FetchSource } from '../../../src/adapters/kafka/fetch-sources.ts';
import { createFetcher, type Fetcher } from '../../../src/adapters/kafka/fetcher.ts';
import { offsetOutOfRange } from '../../../src/adapters/kafka/kafka-errors.ts';
import type { LogCluster } from '../../../src/adapters/kafka/log-cluster.ts';
import { createReader, type ReaderDependencies } from '../../../src/adapters/kafka/reader.ts';
import type { EntryDecoder } from '../../../src/adapters/kafka/schemas.ts';
import type { EventId, TenantId } from '../../../src/domain/ids.ts';
import { deliveriesTopic, retentionTopic, type Topic, workTopic } from '../../../src/domain/topics.ts';
import type { LogEntry, PartitionReader } from '../../../src/ports/event-log.ts';
import { until } from '../../support/until.ts';
import { batchOf } from './batches.ts';
import { clock, type Line, loggerTo } from './log-world.ts';

const topic = workTopic('EMAIL', 'HIGH');
const partition = 3;
const leader = 1;
const all = { eventsMax: 1000, bytesMax: 1_000_000 };
const end = 110;
const begin = 1_700_000_000_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const notLeader = 6;

/** A broker whose answers wait until the test gives them. */
interface HeldBroker {
  readonly cluster: LogCluster;
  /** What is asked and not answered; `offset`: as its session has it, undefined when the partition isn't in it. */
  readonly out: {
    readonly request: FetchRequest;
    readonly offset: number | undefined;
    answer(partitions: readonly FetchedPartition[]): void;
  }[];
}

let broker: HeldBroker;
let fetcher: Fetcher;
let lines: Line[];
/** Where the partition begins. */
let start: number;

beforeEach(() => {
  broker = heldBroker();
  lines = [];
  start = 0;
  fetcher = createFetcher({
    cluster: broker.cluster,
    clock,
    logger: loggerTo(lines),
    gatherMs: 0,
    idleWaitMs: 1000,
    partitionBytesMax: 1024,
  });
});

afterEach(() => fetcher.close());

describe('a fetcher', () => {
  it('gives an answer to nobody but the source that was in the request', async () => {
    const [old, regained] = [sourceAt(100), sourceAt(50)];
    fetcher.add([old]);
    const asked = await nextAsked();
    fetcher.remove([old]);
    fetcher.add([regained]);
    asked.answer([await holding(100, 1)]);
    await nextAsked();
    expect({ old: old.delivered, regained: regained.delivered }).toEqual({ old: [], regained: [] });
  });

  it('is asked for seldom while nothing comes, and often again once something has or another source is there', async () => {
    fetcher.close();
    let now = 0;
    const monotonic = () => now;
    const { cluster } = broker;
    const logger = loggerTo(lines);
    const bounds = { gatherMs: 0, idleWaitMs: 1000, partitionBytesMax: 1024 };
    fetcher = createFetcher({ cluster, clock: { ...clock, monotonic }, logger, ...bounds });
    const waitAfter = async (ms: number, answered: readonly FetchedPartition[]) => {
      now += ms;
      (await nextAsked()).answer(answered);
      return until(() => broker.out[0]?.request.waitMaxMs, { what: 'the next request' });
    };
    fetcher.add([sourceAt(50)]);
    expect(await waitAfter(0, [])).toBe(20);
    expect(await waitAfter(1_000, [])).toBe(200);
    expect(await waitAfter(3_000, [])).toBe(1_000);
    expect(await waitAfter(1_000, [await holding(50, 1)])).toBe(200);
    expect(await waitAfter(3_000, [])).toBe(1_000);
    fetcher.add([{ ...sourceAt(50), partition: partition + 1 }]);
    expect(await waitAfter(0, [])).toBe(20);
  });

  it.each([
    { what: 'refuses at once, however long', answers: () => Promise.reject(new Error('refused')), resets: false },
    { what: 'says nothing', answers: () => new Promise<never>(() => {}), resets: true },
  ])('makes all connections anew for a leader that $what: $resets', async ({ answers, resets }) => {
    fetcher.close();
    let [now, times] = [0, 0];
    const sleep = async (ms: number) => {
      now += ms;
      await oneTurn();
    };
    fetcher = createFetcher({
      cluster: { ...broker.cluster, fetch: answers, reset: () => void times++ },
      clock: { ...clock, monotonic: () => now, sleep },
      logger: loggerTo(lines),
      gatherMs: 0,
      idleWaitMs: 1000,
      partitionBytesMax: 1024,
    });
    fetcher.add([sourceAt(50)]);
    await until(() => now > 120_000, { what: 'two minutes' });
    expect(times > 0).toBe(resets);
  });

  it('gives it to that source no more once it has moved on', async () => {
    const source = sourceAt(50);
    fetcher.add([source]);
    const asked = await nextAsked();
    source.offset = 40;
    asked.answer([await holding(50, 1), failing(offsetOutOfRange)]);
    expect((await nextAsked()).request.partitions).toMatchObject([{ offset: 40 }]);
    expect(source).toMatchObject({ delivered: [], failures: [] });
  });

  it('tells a source of no error that answers another one', async () => {
    const [old, regained] = [sourceAt(100), sourceAt(50)];
    fetcher.add([old]);
    const asked = await nextAsked();
    fetcher.remove([old]);
    fetcher.add([regained]);
    asked.answer([failing(offsetOutOfRange)]);
    await nextAsked();
    expect(regained.failures).toEqual([]);
  });

  it('asks anew for a partition that has another source at the same offset, so that it hears where it ends', async () => {
    const [old, regained] = [sourceAt(100), sourceAt(100)];
    fetcher.add([old]);
    const asked = await nextAsked();
    fetcher.remove([old]);
    fetcher.add([regained]);
    asked.answer([]);
    expect((await nextAsked()).request).toMatchObject({ sessionId: 0, sessionEpoch: 0, partitions: [{ offset: 100 }] });
  });
});

describe('partitions that have to rest', () => {
  it('are asked for again each at its time, also where the one that rests shorter is gone by then', async () => {
    const often = { ...sourceAt(50), partition: partition + 1 };
    const once = sourceAt(50);
    const stale = [often, once].map((source) => ({ ...failing(notLeader), partition: source.partition }));
    fetcher.add([often]);
    (await nextAsked()).answer(stale.slice(0, 1));
    const again = await nextAsked();
    fetcher.add([once]);
    again.answer([]);
    (await nextAsked()).answer(stale);
    await until(() => lines.length === 2, { what: 'that both rest' });
    fetcher.remove([once]);
    expect((await nextAsked()).request.forgotten).toMatchObject([{ partition }]);
    expect(broker.out).toEqual([]);
  });
});

describe('a reader', () => {
  it('whose number was lost and regained while a read was out passes nothing over', async () => {
    const losing = new AbortController();
    readerAt(100, losing.signal);
    const asked = await nextAsked();
    losing.abort();
    const reader = readerAt(50);
    asked.answer([await holding(100, 10)]);
    await serveFrom(50);
    expect(await taken(reader, 60)).toEqual(offsets(50, end));
  });

  it('refuses what begins beyond the offset that it wants, whoever hands it over, and reads it again from there', async () => {
    const reader = readerAt(50);
    (await nextAsked()).answer([await holding(60, 50)]);
    await expect(reader.take(all)).rejects.toThrow('offset 50 is to be read next, but what was read begins at 60');
    await serveFrom(50);
    expect(await taken(reader, 60)).toEqual(offsets(50, end));
  });

  it('hands out what speaks of others once they have been read as far, however long that takes', async () => {
    const { reader, other, last, slept } = await readerOfBoth();
    const taking = reader.take(all);
    let isTaken = false;
    void taking.then(() => (isTaken = true));
    last.deliver(await holding(end - 1, 1));
    await until(() => slept() > 0, { what: 'that its patience is over' });
    await oneTurn();
    expect(isTaken).toBe(false);
    other.deliver(await holding(end - 1, 1));
    expect((await taking).map(({ topic: of }) => of)).toEqual([topic, retentionTopic]);
  });

  it('hands it out behind what the others held also where their times fall, since a leader’s clock was ahead', async () => {
    const { reader, other, last } = await readerOfBoth(end - 3);
    other.deliver(await holding(end - 3, 1, 9_000));
    last.deliver(await holding(end - 1, 1, 5_000));
    other.deliver(await holding(end - 2, 2, 1_000));
    const taken: Topic[] = [];
    while (taken.length < 4) taken.push(...(await reader.take(all)).map(({ topic: of }) => of));
    expect(taken).toEqual([topic, topic, topic, retentionTopic]);
  });

  it('hands it out before what came after it beyond doubt, however far behind the log it reads', async () => {
    const { reader, other, last } = await readerOfBoth(end - 4);
    last.deliver(await holding(end - 1, 1, dayMs, dayMs));
    other.deliver(await holding(end - 4, 1, 0, 0));
    // By its leader's clock alone, by that of the process alone, and by both.
    other.deliver(await holding(end - 3, 1, dayMs + hourMs, dayMs - 1));
    other.deliver(await holding(end - 2, 1, dayMs + 2 * hourMs, dayMs + 59_000));
    other.deliver(await holding(end - 1, 1, dayMs + 3 * hourMs, dayMs + 3 * hourMs));
    const found = await allTaken(reader, 5);
    expect(found.map(({ topic: of }) => of)).toEqual([topic, topic, topic, retentionTopic, topic]);
  });

  it('hands out what stands before it first also where that seems younger than what came after it', async () => {
    const { reader, sources } = await readerOf(deliveriesTopic, topic, retentionTopic);
    const [younger, ahead, last] = sources;
    last?.deliver(await holding(end - 1, 1, 0, 0));
    younger?.deliver(await holding(end - 1, 1, hourMs, hourMs));
    ahead?.deliver(await holding(end - 1, 1, 2 * hourMs, -1));
    const found = await allTaken(reader, 3);
    expect(found.map(({ topic: of }) => of)).toEqual([topic, retentionTopic, deliveriesTopic]);
  });

  it('goes on from where the log begins when what it wants was deleted, and says so', async () => {
    start = 80;
    const reader = readerAt(50);
    (await nextAsked()).answer([failing(offsetOutOfRange)]);
    await serveFrom(80);
    expect(await taken(reader, 30)).toEqual(offsets(80, end));
    expect(lines).toMatchObject([
      { level: 'error', message: /deleted; going on from the start/, fields: { topic, partition, offset: 50, start } },
    ]);
  });

  it.each([
    { offset: 50, levels: ['warn'], said: 'that without alarm where it was overtaken' },
    { offset: 0, levels: [], said: 'nothing aloud where it begins with the log' },
  ])('of what only goes once it has ended says $said', async ({ offset, levels }) => {
    start = 80;
    const reader = readerAt(offset, new AbortController().signal, { deleted: 'over' });
    (await nextAsked()).answer([failing(offsetOutOfRange)]);
    await serveFrom(80);
    expect(await taken(reader, 30)).toEqual(offsets(80, end));
    expect(lines.map(({ level }) => level)).toEqual(levels);
  });

  it('fails at an offset that the log has not reached: it is another log', async () => {
    const reader = readerAt(5000);
    (await nextAsked()).answer([failing(offsetOutOfRange)]);
    await expect(reader.take(all)).rejects.toThrow('does not hold the offset');
  });
});

function readerAt(
  offset: number,
  signal = new AbortController().signal,
  more: Pick<ReaderDependencies, 'deleted'> = {},
): PartitionReader {
  const deps: ReaderDependencies = {
    fetcher,
    decoder,
    clock,
    logger: loggerTo(lines),
    inOrderOfTime: true,
    ...more,
    bounds: async (places, at) => places.map(() => (at === 'start' ? start : end)),
  };
  return createReader(deps, signal, [{ topic, name: topic, partition, offset }]);
}

/** Answers what is asked until someone asks from `offset`, with all that is there from then on. */
async function serveFrom(offset: number): Promise<void> {
  for (;;) {
    const asked = await nextAsked();
    asked.answer(asked.offset === offset ? [await holding(offset, end - offset)] : []);
    if (asked.offset === offset) return;
  }
}

async function taken(reader: PartitionReader, count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) found.push(...(await reader.take(all)).map(({ offset }) => offset));
  return found;
}

async function allTaken(reader: PartitionReader, count: number): Promise<LogEntry[]> {
  const found: LogEntry[] = [];
  while (found.length < count) found.push(...(await reader.take(all)));
  return found;
}

/** One that reads a topic, and another which speaks of it. */
async function readerOfBoth(from = end - 1) {
  const { reader, sources, slept } = await readerOf({ of: topic, from }, retentionTopic);
  const [other, last] = sources;
  if (other === undefined || last === undefined) throw new Error('there are two');
  return { reader, other, last, slept };
}

/** Of topics of which that of retention speaks of the others, from their last event on; their fetcher is the test. */
async function readerOf(...of: readonly (Topic | { readonly of: Topic; readonly from: number })[]) {
  const sources: FetchSource[] = [];
  let slept = 0;
  const deps: ReaderDependencies = {
    fetcher: { add: (added) => void sources.push(...added), remove() {}, wake() {}, close() {} },
    decoder: {
      ...decoder,
      decode: (record) => ({ ...decoder.decode(record), topic: record.topic, head: headOf(record.value) }),
    },
    clock: { ...clock, monotonic: () => slept * 1_000, sleep: async () => void slept++ },
    logger: loggerTo(lines),
    inOrderOfTime: true,
    afterOthers: new Set([retentionTopic]),
    bounds: async (places) => places.map(() => end),
  };
  const places = of.map((one) => {
    const { of: name, from } = typeof one === 'string' ? { of: one, from: end - 1 } : one;
    return { topic: name, name, partition, offset: from };
  });
  const reader = createReader(deps, new AbortController().signal, places);
  return { reader, sources, slept: () => slept };
}

/** Of what `holding` has made. */
function headOf(value: Buffer): LogEntry['head'] {
  const occurredAt = Number(value.toString());
  if (Number.isNaN(occurredAt)) return null;
  return { type: 'ProviderReported', eventId: 'event' as EventId, occurredAt, tenantId: 'tnt_a' as TenantId };
}

/** All that was promised until now has come. */
function oneTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function nextAsked() {
  return until(() => broker.out.shift(), { what: 'a request' });
}

/** @param happenedMs absent: it can't be read when it happened */
async function holding(base: number, count: number, afterMs = 0, happenedMs?: number): Promise<FetchedPartition> {
  const value = Buffer.from(happenedMs === undefined ? 'event' : String(begin + happenedMs));
  const values = offsets(0, count).map(() => ({ value, key: null, later: 0 }));
  const bytes = await batchOf({ base, time: begin + afterMs, values });
  return { topic, partition, errorCode: 0, highWatermark: end, bytes };
}

function failing(errorCode: number): FetchedPartition {
  return { topic, partition, errorCode, highWatermark: -1, bytes: Buffer.alloc(0) };
}

function offsets(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n);
}

interface FakeSource extends FetchSource {
  offset: number;
  readonly delivered: FetchedPartition[];
  readonly failures: Error[];
}

function sourceAt(offset: number): FakeSource {
  const delivered: FetchedPartition[] = [];
  const failures: Error[] = [];
  return {
    topic,
    partition,
    offset,
    wants: true,
    delivered,
    failures,
    deliver: (fetched) => void delivered.push(fetched),
    fail: (error) => void failures.push(error),
  };
}

const decoder: EntryDecoder = {
  typeOf: () => 'NotificationRequested',
  learn: async () => {},
  decode: ({ value, ...position }) => ({
    ...position,
    topic,
    size: value.length,
    head: null,
    event: null,
    undecodable: null,
  }),
};

function heldBroker(): HeldBroker {
  const out: HeldBroker['out'] = [];
  let session: number | undefined;
  const never = () => Promise.reject(new Error('not asked here'));
  return {
    out,
    cluster: {
      ask: never,
      askAnyone: never,
      fetch: (_, request) =>
        new Promise((resolve) => {
          const answer = (partitions: readonly FetchedPartition[]) =>
            resolve({ clientSideThrottleTime: 0, errorCode: 0, sessionId: 7, partitions } satisfies FetchAnswer);
          if (request.sessionEpoch === 0 || request.forgotten.length > 0) session = undefined;
          session = request.partitions[0]?.offset ?? session;
          out.push({ request, offset: session, answer });
        }),
      connect: async () => {},
      refresh: async () => {},
      leaderOf: () => leader,
      partitionsOf: () => 12,
      coordinatorOf: never,
      reset() {},
      close() {},
    },
  };
}
