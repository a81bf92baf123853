// The SQLite log, directly and through a connection: the contract, and what is its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { connectEventLog } from '../../../src/adapters/sqlite/event-log/connected.ts';
import {
  openEventLog,
  type EventLogOptions,
  type SqliteEventLog,
} from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { CommitError, failureOf } from '../../../src/adapters/sqlite/event-log/flush.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { EventLog } from '../../../src/ports/event-log.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { eventLogContract, type OpenEventLog } from '../../contracts/event-log.ts';
import { firstWritten } from '../../support/former-schemas.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';

/** As the wall clock, and a sleep ends with its signal. */
const clock: Clock = {
  ...wallClock,
  sleep: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
};
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const codec = createCodec();
const high = workTopic('EMAIL', 'HIGH');

type Connect = (writing: SqliteEventLog, logger: Logger) => Promise<EventLog>;

eventLogContract('SQLite, in the thread that writes it', {
  open: (group, topics) => openHarness({ groups: [{ group, topics }] }, async (writing) => writing),
});

eventLogContract('SQLite, connected', {
  open: (group, topics) =>
    openHarness({ groups: [{ group, topics }] }, (writing, logger) =>
      connectEventLog(writing.share(), { codec: createCodec(), clock, logger }),
    ),
});

describe('the SQLite event log', () => {
  let folder: string;
  let logs: SqliteEventLog[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
    logs = [];
  });
  afterEach(async () => {
    for (const log of logs) await log.close();
    rmSync(folder, { recursive: true });
  });

  const open = (more: Partial<EventLogOptions> = {}): SqliteEventLog => {
    const log = openEventLog(optionsAt(folder, more));
    logs.push(log);
    return log;
  };

  it('refuses another partitioning than it was made with, and says which', async () => {
    await open().close();
    expect(() => open({ partitioning: { partitions: 24, shards: 2 } })).toThrow('partitions 12, not 24');
    expect(() => open({ partitioning: { partitions: 12, shards: 3 } })).toThrow('shards 2, not 3');
    expect((await open().append(requested(0, 1))).kind).toBe('durable');
  });

  it('reads a range of large events with a turn of the event loop after every few', async () => {
    const log = open();
    const body = 'x'.repeat(190_000);
    for (let i = 0; i < 20; i++) {
      const event = requested(0, i);
      await log.append({ ...event, request: { ...event.request, body } });
    }
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    let read = 0;
    const [topic, partition] = [high, 0];
    const to = (await log.ends(topic))[partition] ?? 0;
    for await (const { size } of log.read({ topic, partition, from: 0, to })) read += size;
    isDone = true;
    expect(read).toBeGreaterThan(20 * 190_000);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it('refuses what does not fit into its queue, and takes it again when there is room', async () => {
    const log = open({ limits: { queueEvents: 10, queueBytes: 1_000_000 } });
    const results = await Promise.all(Array.from({ length: 15 }, (_, n) => log.append(requested(0, n))));
    expect(results.map(({ kind }) => kind)).toEqual([...Array(10).fill('durable'), ...Array(5).fill('refused')]);
    expect((await log.append(requested(0, 99))).kind).toBe('durable');
    const together = await log.appendAll(Array.from({ length: 15 }, (_, n) => requested(0, n)));
    expect(together.map(({ kind }) => kind)).toEqual([...Array(10).fill('durable'), ...Array(5).fill('refused')]);
  });

  it('bounds its queue by bytes too', async () => {
    const { bytes } = codec.encode(requested(0, 1));
    const log = open({ limits: { queueEvents: 1000, queueBytes: bytes.length * 3 } });
    const results = await Promise.all([1, 2, 3, 4].map((n) => log.append(requested(0, n))));
    expect(results.map(({ kind }) => kind)).toEqual(['durable', 'durable', 'durable', 'refused']);
  });

  it('refuses what it certainly did not write, is not ready until it works again, and then gives the next offset', async () => {
    const log = open();
    await log.append(requested(0, 1));
    const other = new DatabaseSync(join(folder, 'log.db'));
    other.exec('BEGIN IMMEDIATE');
    const results = await Promise.all([log.append(requested(0, 2)), log.append(requested(1, 3))]);
    expect(results).toEqual([
      expect.objectContaining({ kind: 'refused' }),
      expect.objectContaining({ kind: 'refused' }),
    ]);
    expect(await log.ready()).toBe(false);
    other.exec('ROLLBACK');
    other.close();
    expect(await log.append(requested(0, 4))).toEqual({
      kind: 'durable',
      position: { topic: high, partition: 0, offset: 1 },
    });
    expect(await log.ready()).toBe(true);
    expect((await log.ends(high)).slice(0, 2)).toEqual([2, 0]);
  });

  it('becomes ready by itself, without an append, once it can write', async () => {
    let now = 0;
    const log = open({ clock: { ...wallClock, monotonic: () => (now += 1000) } });
    const other = new DatabaseSync(join(folder, 'log.db'));
    other.exec('BEGIN IMMEDIATE');
    expect((await log.append(requested(0, 2))).kind).toBe('refused');
    expect(await log.ready()).toBe(false);
    other.exec('ROLLBACK');
    other.close();
    expect(await log.ready()).toBe(true);
  });

  it('fails a commit that could not be written', async () => {
    const log = open();
    const claims = await claimsOf(log);
    const other = new DatabaseSync(join(folder, 'log.db'));
    other.exec('BEGIN IMMEDIATE');
    await expect(claims[0]?.commit([{ topic: high, offset: 1, metadata: '' }])).rejects.toThrow('the commit failed');
    other.exec('ROLLBACK');
    other.close();
    await claims[0]?.commit([{ topic: high, offset: 2, metadata: '' }]);
    expect((await log.committed('dispatcher-email', high))[0]?.offset).toBe(2);
  });

  it('never stamps an earlier time when the clock falls', async () => {
    const times = [5000, 4000, 6000];
    const log = open({ clock: { ...wallClock, now: () => times.shift() ?? 0 } });
    for (const n of [1, 2, 3]) await log.append(requested(0, n));
    await log.close();
    const again = open({ clock: { ...wallClock, now: () => 1000 } });
    await again.append(requested(0, 4));
    const stamped: number[] = [];
    for await (const { appendedAt } of again.read({ topic: high, partition: 0, from: 0, to: 10 }))
      stamped.push(appendedAt);
    expect(stamped).toEqual([5000, 5000, 6000, 6000]);
  });

  it('stops at a schema that it does not know, and goes on from there when it is known', async () => {
    const log = open();
    for (const n of [1, 2, 3]) await log.append(requested(0, n));
    const other = new DatabaseSync(join(folder, 'log.db'));
    other.exec('UPDATE events SET schema = 999, checksum = NULL WHERE "offset" = 1');
    const [claim] = await claimsOf(log);
    const reader = claim?.read(new Map([[high, 0]]));
    const limits = { eventsMax: 10, bytesMax: 100_000 };
    expect((await reader?.take(limits))?.map(({ offset }) => offset)).toEqual([0]);
    await expect(reader?.take(limits)).rejects.toMatchObject({ name: 'UnknownSchemaError' });
    await expect(reader?.take(limits)).rejects.toThrow('999');
    other.exec(
      'INSERT INTO schemas (id, type, fingerprint, json) SELECT 999, type, fingerprint || 1, json FROM schemas WHERE id = 1',
    );
    other.exec(
      `UPDATE schemas SET (type, json, fingerprint) = (SELECT s.type, s.json, 'x' FROM events e JOIN schemas s ON s.id = e.schema WHERE e."offset" = 0) WHERE id = 999`,
    );
    other.close();
    expect((await reader?.take(limits))?.map(({ offset }) => offset)).toEqual([1, 2]);
  });

  it('says unknown where COMMIT itself failed in a way that may have left its work in the file', () => {
    const sqliteError = (errcode: number) => Object.assign(new Error('it failed'), { errcode });
    const [full, writing, syncing] = [13, 778, 1034];
    expect(failureOf(new CommitError(sqliteError(full)), true).kind).toBe('refused');
    expect(failureOf(sqliteError(writing), true).kind).toBe('refused');
    expect(failureOf(new CommitError(sqliteError(syncing)), true).kind).toBe('unknown');
    expect(failureOf(sqliteError(full), false).kind).toBe('unknown');
  });

  it('looks its pages up by the primary key', () => {
    open();
    const db = new DatabaseSync(join(folder, 'log.db'), { readOnly: true });
    const plan = db
      .prepare(
        'EXPLAIN QUERY PLAN SELECT bytes FROM events WHERE topic = 1 AND "partition" = 2 AND "offset" >= 3 AND "offset" < 9 AND type IN (1, 2) ORDER BY "offset" LIMIT 5',
      )
      .all();
    db.close();
    expect(plan.map(({ detail }) => String(detail))).toEqual([
      'SEARCH events USING INDEX sqlite_autoindex_events_1 (topic=? AND partition=? AND offset>? AND offset<?)',
    ]);
  });

  async function claimsOf(log: EventLog) {
    const claims: Parameters<Parameters<EventLog['consume']>[0]['owned']>[0][] = [];
    await log.consume({
      group: 'dispatcher-email',
      topics: [high],
      owned: (claim) => void claims.push(claim),
      lost() {},
    });
    return claims;
  }
});

function optionsAt(folder: string, more: Partial<EventLogOptions>): EventLogOptions {
  const fixed = { codec: createCodec(), clock, logger: silent, partitioning: defaultPartitioning };
  return { path: join(folder, 'log.db'), topics: allTopics, groups: [], ...fixed, ...more };
}

async function openHarness(more: Partial<EventLogOptions>, connect: Connect): Promise<OpenEventLog> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  const said: string[] = [];
  const logger: Logger = { ...silent, error: (message) => void said.push(message) };
  const options = optionsAt(folder, { logger, ...more });
  let writing = openEventLog(options);
  let log = await connect(writing, logger);

  const closeBoth = async () => {
    await log.close();
    await writing.close();
  };
  return {
    log,
    async reopen() {
      await closeBoth();
      writing = openEventLog(options);
      log = await connect(writing, logger);
      return log;
    },
    async plantUndecodable(topic, partition) {
      const [, channel, priority] = topic.split('.');
      expect(channel).toBe('email');
      const result = await writing.append(requested(partition, 0, priority === 'high' ? 'HIGH' : 'BULK'));
      if (result.kind !== 'durable') throw new Error(result.reason);
      const other = new DatabaseSync(join(folder, 'log.db'));
      other
        .prepare(`UPDATE events SET bytes = x'ffff', checksum = NULL WHERE "partition" = ? AND "offset" = ?`)
        .run(partition, result.position.offset);
      other.close();
      return result.position;
    },
    async plantFormer(event) {
      const result = await writing.append(event);
      if (result.kind !== 'durable') throw new Error(result.reason);
      const { fingerprint, bytes } = firstWritten(event);
      const other = new DatabaseSync(join(folder, 'log.db'));
      const { changes } = other
        .prepare(
          `UPDATE events SET bytes = ?, checksum = NULL, schema = (SELECT id FROM schemas WHERE fingerprint = ?)
           WHERE "partition" = ? AND "offset" = ?`,
        )
        .run(bytes, fingerprint, event.partition, result.position.offset);
      expect(changes).toBe(1);
      other.close();
      return result.position;
    },
    async deleteBelow({ topic, partition, offset }) {
      const other = new DatabaseSync(join(folder, 'log.db'));
      other
        .prepare(
          `DELETE FROM events WHERE topic = (SELECT id FROM topics WHERE name = ?) AND "partition" = ? AND "offset" < ?`,
        )
        .run(topic, partition, offset);
      other.close();
    },
    said: () => said,
    async close() {
      await closeBoth();
      rmSync(folder, { recursive: true });
    },
  };
}
