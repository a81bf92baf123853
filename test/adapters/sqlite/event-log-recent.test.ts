// An event that is in memory already is neither read nor decoded again: one that was just appended, one that another reader of the thread has taken.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec, type Codec } from '../../../src/codec/index.ts';
import type { DomainEvent, EventType } from '../../../src/domain/events.ts';
import { allTopics, defaultPartitioning, topicOf, workTopic } from '../../../src/domain/topics.ts';
import type { Claim, EventLog, LogEntry, PartitionReader } from '../../../src/ports/event-log.ts';
import { anyEvent } from '../../support/events.ts';
import fc from '../../support/properties.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const high = workTopic('EMAIL', 'HIGH');
const groups = ['first', 'second', 'third'] as const;
const limits = { eventsMax: 64, bytesMax: 1024 * 1024 };
let folder: string;
let log: SqliteEventLog;
let decoded: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  decoded = 0;
  log = openEventLog({
    path: join(folder, 'log.db'),
    codec: countingCodec(),
    clock: wallClock,
    logger: silentLogger,
    partitioning: defaultPartitioning,
    topics: allTopics,
    groups: groups.map((group) => ({ group, topics: allTopics })),
  });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

describe('a reader that waits for an event', () => {
  it('is handed what was appended, without another decoding', async () => {
    const reader = await readerOf(log, 'first');
    for (let n = 0; n < 20; n++) {
      const event = requested(0, n);
      const taking = reader.take(limits);
      await log.append(event);
      const taken = await taking;
      expect(taken.map(({ offset }) => offset)).toEqual([n]);
      expect(taken[0]?.event).toBe(event);
    }
    expect(decoded).toBe(0);
  });

  it('is handed the same, of whatever type, as a later one reads from the file', async () => {
    const claim = await claimOf(log, 'first');
    await fc.assert(
      fc.asyncProperty(anyEvent, async (any) => {
        const event: DomainEvent = { ...any, partition: 0 };
        const topic = topicOf(event);
        const end = (await log.ends(topic))[0] ?? 0;
        const reader = claim.read(new Map([[topic, end]]));
        const taking = reader.take(limits);
        await log.append(event);
        const [handed] = await taking;
        const [read] = await readRange(topic, end);
        expect(plain(handed)).toEqual(plain(read));
        reader.close();
      }),
      { numRuns: 40 },
    );
  });

  it('goes on in the file where more was appended than is kept, with nothing left out and nothing twice', async () => {
    const reader = await readerOf(log, 'first');
    const offsets: number[] = [];
    const take = async (eventsMax: number) => {
      for (const { offset } of await reader.take({ ...limits, eventsMax })) offsets.push(offset);
    };
    const count = 2100;
    for (let n = 0; n < count; n += 300) {
      const taking = take(7);
      await Promise.all(Array.from({ length: 300 }, (_, i) => log.append(requested(0, n + i))));
      await taking;
      if (n % 900 === 0) while (offsets.length < n) await take(64);
    }
    while (offsets.length < count) await take(64);
    expect(offsets).toEqual(Array.from({ length: count }, (_, n) => n));
  });
});

describe('readers of a connected thread', () => {
  it('take the same decoded event, whichever of them comes first and whatever types each wants', async () => {
    const connected = await connectEventLog(log.share(), {
      codec: countingCodec(),
      clock: wallClock,
      logger: silentLogger,
    });
    const types = new Set<EventType>(['NotificationRequested']);
    const [first, second, third] = await Promise.all([
      readerOf(connected, 'first'),
      readerOf(connected, 'second', types),
      readerOf(connected, 'third', new Set<EventType>(['InboxRead'])),
    ]);
    for (let n = 0; n < 50; n++) await log.append(requested(0, n));
    const taken = [await takeAll(first, 50), await takeAll(second, 50)];
    expect(decoded).toBe(0);
    expect(taken[1]).toEqual(taken[0]);
    expect(taken[0]?.map(({ event }) => event?.type)).toEqual(Array(50).fill('NotificationRequested'));
    expect(decoded).toBe(50);
    expect(taken[0]?.map(({ offset }) => offset)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(await third.take({ ...limits, passedMax: 50 })).toEqual([]);
    await connected.close();
  });

  it('decode a large one once as well, and read on in the file where more came than is kept', async () => {
    const connected = await connectEventLog(log.share(), {
      codec: countingCodec(),
      clock: wallClock,
      logger: silentLogger,
    });
    const [first, second] = await Promise.all([readerOf(connected, 'first'), readerOf(connected, 'second')]);
    const bodies = Array.from({ length: 40 }, (_, n) => `${n} `.repeat(60_000));
    const bodiesOf = (entries: readonly LogEntry[]) =>
      entries.map(({ event }) => (event?.type === 'NotificationRequested' ? event.request.body : null));
    for (const [n, body] of bodies.slice(0, 3).entries()) await log.append(withBody(n, body));
    const taken = [await takeAll(first, 3), await takeAll(second, 3)];
    expect(taken.map(bodiesOf)).toEqual([bodies.slice(0, 3), bodies.slice(0, 3)]);
    expect(decoded).toBe(3);
    for (const [n, body] of bodies.entries()) if (n >= 3) await log.append(withBody(n, body));
    expect(bodiesOf(await takeAll(first, 37))).toEqual(bodies.slice(3));
    expect(bodiesOf(await takeAll(second, 37))).toEqual(bodies.slice(3));
    await connected.close();
  });
});

function withBody(n: number, body: string): DomainEvent {
  const event = requested(0, n);
  return { ...event, request: { ...event.request, body } };
}

/** What of an entry can be seen. */
function plain(entry: LogEntry | undefined): object | undefined {
  if (entry === undefined) return undefined;
  const { topic, partition, offset, appendedAt, size, head, event, undecodable } = entry;
  return { topic, partition, offset, appendedAt, size, head, event, undecodable };
}

function countingCodec(): Codec {
  const codec = createCodec();
  return {
    ...codec,
    decode(...of) {
      decoded++;
      return codec.decode(...of);
    },
  };
}

async function readRange(topic: string, from: number): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  for await (const entry of log.read({ topic, partition: 0, from, to: from + 1 })) all.push(entry);
  return all;
}

async function takeAll(reader: PartitionReader, count: number): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  while (all.length < count) all.push(...(await reader.take(limits)));
  return all;
}

async function readerOf(from: EventLog, group: string, types?: ReadonlySet<EventType>): Promise<PartitionReader> {
  return (await claimOf(from, group, types)).read(new Map([[high, 0]]));
}

/** On number 0, which the only member of a group has with all others. */
async function claimOf(from: EventLog, group: string, types?: ReadonlySet<EventType>): Promise<Claim> {
  const claimed = Promise.withResolvers<Claim>();
  await from.consume({
    group,
    topics: allTopics,
    ...(types === undefined ? {} : { types }),
    owned: (claim) => claim.partition === 0 && claimed.resolve(claim),
    lost() {},
  });
  return claimed.promise;
}
