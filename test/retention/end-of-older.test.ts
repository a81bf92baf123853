// Where what is older than a horizon ends, in a log whose clock was ahead for a moment, until it is set right and long after.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { SqliteEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { openEventLog } from '../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../src/codec/index.ts';
import { allTopics, defaultPartitioning, type Topic, topicOf } from '../../src/domain/topics.ts';
import type { EventLog, LogEntry } from '../../src/ports/event-log.ts';
import { trimEventsMax } from '../../src/ports/event-log.ts';
import type { Looked } from '../../src/retention/end-of-older.ts';
import { endOfOlder } from '../../src/retention/end-of-older.ts';
import { requested } from '../support/requested.ts';
import { wallClock } from '../support/wall-clock.ts';

const dayMs = 24 * 3_600_000;
const event = requested(0, 1);
const place = { topic: topicOf(event), partition: event.partition };
const noon = Date.UTC(2026, 10, 29, 12);

let folder: string;
let log: SqliteEventLog;
let now: number;
let said: string[];
const clock = { ...wallClock, now: () => now };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-older-'));
  now = noon;
  said = [];
  looked = new Map();
  read = 0;
  moves = 0;
  turns = [];
  const silent = (): void => undefined;
  const logger = { debug: silent, info: silent, warn: (message: string) => void said.push(message), error: silent };
  const shape = { partitioning: defaultPartitioning, topics: allTopics, groups: [] };
  log = openEventLog({ path: join(folder, 'log.db'), codec: createCodec(), clock, logger, ...shape });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

async function appendAt(...days: readonly number[]): Promise<void> {
  for (const day of days) {
    now = noon + day * dayMs;
    await log.append({ ...event, occurredAt: now });
  }
}

/** What each turn has read. */
let turns: number[];
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  const before = read;
  const done = await work();
  turns.push(read - before);
  return done;
};
const { signal } = new AbortController();
let moves: number;
let looked: Map<Topic, Looked>;
/** Events that were read, of all passes. */
let read: number;
const olderThanAMonth = () =>
  endOfOlder(
    { log: { ...log, read: counted }, clock, inTurn, moved: () => void moves++ },
    looked,
    { ...place, signal },
    now - 30 * dayMs,
  );

async function* counted(...range: Parameters<SqliteEventLog['read']>): AsyncGenerator<LogEntry> {
  for await (const entry of log.read(...range)) {
    read++;
    yield entry;
  }
}

it('is where the first event of the month stands', async () => {
  await appendAt(0, 10, 20, 30, 40);
  now = noon + 45 * dayMs;
  expect(await olderThanAMonth()).toBe(2);
  expect(said).toEqual([]);
});

it('is there as well where the clock was ahead by a year for one event, which is of that year, and says so once', async () => {
  await appendAt(0);
  now = noon + 365 * dayMs;
  await log.append({ ...event, occurredAt: noon + dayMs });
  await appendAt(10, 20, 30, 40);
  now = noon + 45 * dayMs;
  expect(await olderThanAMonth()).toBe(3);
  expect(said).toEqual([expect.stringMatching(/events of the future/)]);
});

it('is behind what happened by the clock that was ahead where what came later is older, and before it where that is not', async () => {
  await appendAt(0, 365, 10, 20);
  now = noon + 45 * dayMs;
  expect(await olderThanAMonth()).toBe(3);
  now = noon + 35 * dayMs;
  expect(await olderThanAMonth()).toBe(1);
});

it('is found by looking at what happened by that clock once, however often it is asked for', async () => {
  now = noon + 365 * dayMs;
  await Promise.all(Array.from({ length: 3_000 }, () => log.append({ ...event, occurredAt: now })));
  await appendAt(0, 40);
  now = noon + 45 * dayMs;
  expect(await olderThanAMonth()).toBe(3_001);
  // In turns, between which others have the thread; and the watchdog hears of each.
  expect([Math.max(...turns), moves]).toEqual([2_000, 1]);
  const before = read;
  for (let passes = 0; passes < 10; passes++) expect(await olderThanAMonth()).toBe(3_001);
  expect(read - before).toBeLessThan(50);
});

it('is found past any number of offsets that were trimmed behind one that waits', async () => {
  now = noon + 365 * dayMs;
  await log.append({ ...event, occurredAt: now });
  now = noon;
  await Promise.all(Array.from({ length: 5_000 }, () => log.append({ ...event, occurredAt: noon })));
  await appendAt(10, 40);
  now = noon + 45 * dayMs;
  expect(await olderThanAMonth()).toBe(5_002);
  for (let from = 1; from < 5_002; from += trimEventsMax) {
    const to = Math.min(5_002, from + trimEventsMax);
    await log.trim({ topic: place.topic, partition: place.partition, from, to, kept: [] });
  }
  // As at a look back, or a start.
  looked.clear();
  now = noon + 75 * dayMs;
  expect(await olderThanAMonth()).toBe(5_003);
});

it('is the end where all is older', async () => {
  await appendAt(0, 10);
  now = noon + 100 * dayMs;
  expect(await olderThanAMonth()).toBe(2);
});

it('is found behind no more than one event of an erased tenant, however many there are, and past what happened by its clock', async () => {
  await appendAt(0, 20);
  const ofErased: LogEntry[] = [];
  for await (const entry of log.read({ ...place, from: 1, to: 2 })) ofErased.push(entry);
  const [one] = ofErased;
  if (one === undefined) throw new Error('it is there');
  const end = 10_000;
  let fetched = 0;
  // All from the horizon on is of an erased tenant, as Kafka has it until RETENTION ends.
  const erased: Pick<EventLog, 'read' | 'ends' | 'offsetAt'> = {
    ends: async () => Array.from({ length: 12 }, () => end),
    offsetAt: async () => 1,
    async *read({ from, to, ofErased: asked }) {
      for (let offset = from; offset < Math.min(to, end); offset++) {
        fetched++;
        if (asked === 'shown') yield { ...one, offset };
      }
    },
  };
  const moved = () => void moves++;
  const found = () => endOfOlder({ log: erased, clock, inTurn, moved }, looked, { ...place, signal }, now - 30 * dayMs);
  now = noon + 45 * dayMs;
  expect(await found()).toBe(1);
  expect(fetched).toBe(1);
  // By a clock that was ahead: all are looked through in a pass, 2,000 a turn.
  now = noon + dayMs;
  await found();
  expect(looked.get(place.topic)?.below).toBe(end);
});
