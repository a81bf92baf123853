// What the embedded log holds of large events: bounded in bytes, whatever they are.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openDatabase } from '../../../src/adapters/sqlite/sqlite.ts';
import { createCatalog } from '../../../src/adapters/sqlite/event-log/catalog.ts';
import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createRows } from '../../../src/adapters/sqlite/event-log/rows.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { NotificationRequested } from '../../../src/domain/events.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import type { Claim } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const group = 'readers';
const high = workTopic('EMAIL', 'HIGH');
/** Of partition 0 of that topic. */
const slot = allTopics.indexOf(high) * defaultPartitioning.partitions;
const bodyBytes = 200 * 1024;

let folder: string;
let log: SqliteEventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  log = openEventLog({
    path: join(folder, 'log.db'),
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
    partitioning: defaultPartitioning,
    topics: allTopics,
    groups: [{ group, topics: [high] }],
  });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

it('an event that is held keeps nothing of the page that it came with', async () => {
  const body = 'x'.repeat(1_500);
  const events = Array.from({ length: 48 }, (_, n) => requested(0, n));
  await log.appendAll(events.map((event) => ({ ...event, request: { ...event.request, body } })));
  const db = openDatabase(join(folder, 'log.db'), { readOnly: true });
  const rows = createRows({ db, catalog: createCatalog(allTopics, defaultPartitioning), codec: createCodec() });
  const page = rows.page()(slot, 0, 48, 48);
  const entries = page.map((row) => rows.entry(slot, row));
  const memoryOf = (entry: object) =>
    Object.values(entry).find((value): value is Buffer => Buffer.isBuffer(value))?.buffer.byteLength;
  // Small ones share a few KiB of Node's.
  expect(entries.map(memoryOf)).toEqual(Array.from(entries, () => Buffer.poolSize));
  expect(page.at(-1)?.[4]?.buffer.byteLength).toBeGreaterThan(48 * 1_500);
  db.close();
});

describe('events of 200 KiB', () => {
  it("stay in the file until their turn: a reader's page holds none of them", async () => {
    for (let n = 0; n < 40; n++) await log.append(large(n));
    const db = openDatabase(join(folder, 'log.db'), { readOnly: true });
    const rows = createRows({ db, catalog: createCatalog(allTopics, defaultPartitioning), codec: createCodec() });
    const page = rows.page()(slot, 0, 40, 48);
    const held = page.reduce((sum, [, , , , bytes]) => sum + (bytes?.length ?? 0), 0);
    expect([page.length, held]).toEqual([40, 0]);
    db.close();

    const reader = (await firstClaim()).read(new Map([[high, 0]]));
    const entries = await reader.take({ eventsMax: 100, bytesMax: 100 * bodyBytes });
    const expected = Array.from({ length: 40 }, (_, n) => expect.objectContaining(large(n).request));
    expect(entries.map(({ event }) => event !== null && 'request' in event && event.request)).toEqual(expected);
  });

  it('are refused by a connected thread past 8 MiB without an answer, and taken again then', async () => {
    const connected = await connectEventLog(log.share(), {
      codec: createCodec(),
      clock: wallClock,
      logger: silentLogger,
    });
    const results = await Promise.all(Array.from({ length: 60 }, (_, n) => connected.append(large(n))));
    const kinds = results.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'durable')).toHaveLength(41);
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(19);
    expect((await connected.append(large(60))).kind).toBe('durable');
    await connected.close();
  });
});

function large(n: number): NotificationRequested {
  const event = requested(0, n);
  return { ...event, request: { ...event.request, body: 'x'.repeat(bodyBytes) } };
}

function firstClaim(): Promise<Claim> {
  return new Promise((resolve) => {
    void log.consume({
      group,
      topics: [high],
      owned: (claim) => claim.partition === 0 && resolve(claim),
      lost() {},
    });
  });
}
