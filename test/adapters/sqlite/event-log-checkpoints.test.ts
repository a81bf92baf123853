// Who copies the log's write-ahead file into log.db: the connected thread that says so, and the writer as soon as that is gone.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';

import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createMetrics } from '../../../src/adapters/node/metrics.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const bodyBytes = 200 * 1024;
/** Over 1,000 pages of 4 KiB, after which a writer that is alone copies them. */
const manyBytes = 6 * 1024 * 1024;

let folder: string;
let log: SqliteEventLog;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: allTimersBut('setInterval') });
  folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  log = openEventLog({
    path: join(folder, 'log.db'),
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
    partitioning: defaultPartitioning,
    topics: allTopics,
    groups: [],
  });
});
afterEach(async () => {
  await log.close();
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

it('a connected thread does it, however little there is, and the writer nothing of it meanwhile', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const connected = await connect(metrics);
  await append(manyBytes);
  expect(copied()).toBeLessThan(manyBytes / 2);
  jest.advanceTimersByTime(250);
  expect(copied()).toBeGreaterThan(manyBytes);
  expect(await metrics.read()).toContain('herald_log_wal_pages 0');

  const before = copied();
  await append(bodyBytes);
  jest.advanceTimersByTime(250);
  expect(copied()).toBeGreaterThanOrEqual(before + bodyBytes);
  await connected.close();
});

it('once that thread is gone the writer does it, and another thread that ends changes nothing', async () => {
  const connected = await connect();
  const other = await connectEventLog(log.share(), { codec: createCodec(), clock: wallClock, logger: silentLogger });
  await other.close();
  await turnOfTheLoop();
  await append(manyBytes);
  expect(copied()).toBeLessThan(manyBytes / 2);
  await connected.close();
  await until(async () => {
    await append(bodyBytes);
    return copied() > manyBytes;
  });
});

it('a writer that no thread does it for does it by itself', async () => {
  await append(manyBytes);
  expect(copied()).toBeGreaterThan(manyBytes / 2);
});

async function connect(metrics = createMetrics({ processMetrics: false })) {
  const connected = await connectEventLog(log.share(), {
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
    checkpoints: { metrics },
  });
  // An answer that comes after it says that the writer has heard of it.
  expect(await connected.ready()).toBe(true);
  return connected;
}

async function append(bytes: number): Promise<void> {
  const event = requested(0, 1);
  const large = { ...event, request: { ...event.request, body: 'x'.repeat(bodyBytes) } };
  for (let appended = 0; appended < bytes; appended += bodyBytes)
    expect((await log.append(large)).kind).toBe('durable');
}

/** Bytes of log.db without what stands beside it. */
function copied(): number {
  return statSync(join(folder, 'log.db')).size;
}

async function turnOfTheLoop(): Promise<void> {
  await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 0)));
}

type Faked =
  | 'hrtime'
  | 'nextTick'
  | 'performance'
  | 'queueMicrotask'
  | 'Date'
  | `${'set' | 'clear'}${'Immediate' | 'Interval' | 'Timeout'}`;

function allTimersBut(faked: 'setInterval'): Faked[] {
  const all: Faked[] = [
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'Date',
    'setImmediate',
    'clearImmediate',
  ];
  all.push('setInterval', 'setTimeout', 'clearTimeout');
  return all.filter((one) => one !== faked);
}
