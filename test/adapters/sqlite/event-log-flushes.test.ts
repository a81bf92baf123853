// When the SQLite log writes what waits: at once, or together with what comes within 4 ms.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';

import type { SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { openEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { NotificationRequested, Priority } from '../../../src/domain/events.ts';
import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

let folder: string;
let log: SqliteEventLog;
let setTimeouts: jest.SpiedFunction<typeof setTimeout>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  log = openEventLog({
    path: join(folder, 'log.db'),
    codec: createCodec(),
    // However slow the machine is, all happens at one time.
    clock: { ...wallClock, monotonic: () => 0 },
    logger: silentLogger,
    partitioning: defaultPartitioning,
    topics: allTopics,
    groups: [],
  });
  setTimeouts = jest.spyOn(globalThis, 'setTimeout');
});
afterEach(async () => {
  setTimeouts.mockRestore();
  await log.close();
  rmSync(folder, { recursive: true });
});

it('what follows many callers waits for 4 ms, for others to be written with it', async () => {
  await Promise.all(eventsOf(8).map((event) => log.append(event)));
  await log.append(requested(0, 8, 'DEFAULT'));
  expect(setTimeouts.mock.calls.map(([, ms]) => ms)).toEqual([4]);
});

it('HIGH that follows many callers is written at once, with what waits; what follows within 4 ms of that waits again, HIGH as well', async () => {
  await Promise.all(eventsOf(8).map((event) => log.append(event)));
  const durable: string[] = [];
  const waiting = log.append(requested(0, 8, 'BULK')).then(() => durable.push('BULK'));
  expect(setTimeouts).toHaveBeenCalledTimes(1);
  await log.append(requested(0, 9)).then(() => durable.push('HIGH'));
  expect(durable).toEqual(['BULK', 'HIGH']);
  await waiting;
  await Promise.all([log.append(requested(0, 10)), log.append(requested(0, 11))]);
  expect(setTimeouts.mock.calls.map(([, ms]) => ms)).toEqual([4, 4]);
});

it('what follows one caller, however much he had appended together, is written at once', async () => {
  await log.appendAll(eventsOf(1200));
  await log.append(requested(0, 1200));
  await setImmediate();
  expect(setTimeouts).not.toHaveBeenCalled();
});

it("what comes by itself while a batch's part waits in another lane is durable a turn of the event loop before the rest of that", async () => {
  const durable: string[] = [];
  const batch = log.appendAll(eventsOf(500, 'BULK')).then(() => durable.push('batch'));
  const single = log.append(requested(0, 500)).then(() => durable.push('single'));
  const few = log.appendAll(eventsOf(3)).then(() => durable.push('few'));
  await Promise.race([batch, single]);
  await setImmediate();
  expect(durable).toEqual(['single', 'few']);
  await Promise.all([batch, few]);
});

function eventsOf(count: number, priority: Priority = 'HIGH'): readonly NotificationRequested[] {
  return Array.from({ length: count }, (_, n) => requested(0, n, priority));
}
