// For how long retention holds the thread that writes the log: what is trimmed in a call, and a step of giving back, by processor time, since what else a machine
// does at the time is no doing of theirs. What the disk takes beside that is one sync a call, as a flush has it.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { startGivingBack } from '../../../src/adapters/sqlite/giving-back.ts';
import { openDatabase } from '../../../src/adapters/sqlite/sqlite.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import { trimBytesMax, trimEventsMax } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { cpuMsSince } from '../../support/thread-cpu.ts';
import { until } from '../../support/until.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

/** A writer may wait for so long, whatever is trimmed meanwhile. */
const holdMaxMs = 20;
const bulk = workTopic('EMAIL', 'BULK');
const partition = 3;
const events = 60 * trimEventsMax;

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-holds-'));
  path = join(folder, 'log.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

const openLog = () =>
  openEventLog({
    path,
    topics: allTopics,
    groups: [],
    partitioning: defaultPartitioning,
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
  });

/** As large as those of a pass may be together. */
async function fill(log: ReturnType<typeof openLog>): Promise<void> {
  const body = 'x'.repeat(trimBytesMax / trimEventsMax - 500);
  for (let n = 0; n < events; n += trimEventsMax)
    await log.appendAll(
      Array.from({ length: trimEventsMax }, (_, i) => {
        const event = requested(partition, n + i, 'BULK');
        return { ...event, request: { ...event.request, body } };
      }),
    );
}

/** What of a call is synchronous: a promise that is awaited lets others go. */
function held<T>(work: () => T, holds: number[]): T {
  const before = process.threadCpuUsage();
  const result = work();
  holds.push(cpuMsSince(before));
  return result;
}

async function trimAll(log: ReturnType<typeof openLog>, keeps: (offset: number) => boolean): Promise<number[]> {
  const holds: number[] = [];
  for (let from = 0; from < events; from += trimEventsMax) {
    const to = from + trimEventsMax;
    const kept = Array.from({ length: trimEventsMax }, (_, i) => from + i).filter(keeps);
    const trimmed = held(() => log.trim({ topic: bulk, partition, from, to, kept }), holds);
    expect(await trimmed).toEqual({ events: trimEventsMax - kept.length });
  }
  return holds;
}

/** Of sixty calls, each time of a log of its own: what a call costs it costs again, and what the system takes once on a thread's account, for its own memory say, it doesn't. */
async function longestHold(keeps: (offset: number) => boolean): Promise<number> {
  let longest = Infinity;
  for (let tries = 0; tries < 3 && longest >= holdMaxMs; tries++) {
    rmSync(folder, { recursive: true });
    folder = mkdtempSync(join(tmpdir(), 'herald-holds-'));
    path = join(folder, 'log.db');
    const log = openLog();
    await fill(log);
    const holds = await trimAll(log, keeps);
    expect(holds).toHaveLength(60);
    longest = Math.max(...holds);
    await log.close();
  }
  return longest;
}

describe('what retention takes away', () => {
  it('holds the thread for less than 20 ms a call, whether it goes as a whole or event by event', async () => {
    expect(await longestHold((offset) => offset % 2 === 0)).toBeLessThan(holdMaxMs);
    expect(await longestHold(() => false)).toBeLessThan(holdMaxMs);
  }, 120_000);

  it('is given back to the disk in steps that hold it for less than 20 ms each, down to what is kept free', async () => {
    const log = openLog();
    await fill(log);
    await trimAll(log, () => false);
    await log.close();
    const before = statSync(path).size;
    const db = openDatabase(path, { synchronous: 'FULL', holds: 'meta', givesBack: true });
    const holds: number[] = [];
    const measured = new Proxy(db, {
      get(of, name) {
        if (name !== 'exec') {
          const value: unknown = Reflect.get(of, name, of);
          return typeof value === 'function' ? (value.bind(of) as unknown) : value;
        }
        return (sql: string) => held(() => of.exec(sql), holds);
      },
    });
    const giving = startGivingBack({ db: measured, clock: wallClock, logger: silentLogger, file: 'log' });
    await until(() => Number(db.prepare('PRAGMA freelist_count').get()?.['freelist_count']) <= 256, {
      timeoutMs: 50_000,
      what: 'the free pages to be given back',
    });
    giving.close();
    db.close();
    expect(before).toBeGreaterThan(events * 3_000);
    expect(statSync(path).size).toBeLessThan(before / 10);
    expect(holds.length).toBeGreaterThan(10);
    expect(Math.max(...holds)).toBeLessThan(holdMaxMs);
  }, 90_000);
});
