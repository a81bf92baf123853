// What a disk does to the log: a bit that has turned is a dead letter, never a body that is sent.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openCopySource } from '../../../src/adapters/sqlite/event-log/copy-source.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import type { LogEntry } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const high = workTopic('EMAIL', 'HIGH');
let folder: string;
let log: SqliteEventLog;

const open = () =>
  openEventLog({
    path: join(folder, 'log.db'),
    topics: allTopics,
    groups: [],
    partitioning: defaultPartitioning,
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
  });
const onFile = (work: (db: DatabaseSync) => void) => {
  const db = new DatabaseSync(join(folder, 'log.db'));
  work(db);
  db.close();
};
async function entries(): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  for await (const entry of log.read({ topic: high, partition: 0, from: 0, to: 100 })) all.push(entry);
  return all;
}
const bodyOf = ({ event }: LogEntry) => (event?.type === 'NotificationRequested' ? event.request.body : null);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-log-'));
  log = open();
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

/** Of the middle one of three events, in the middle of its body: it decodes as before, to another text. */
async function turnABit(column: 'bytes' | 'schema' = 'bytes'): Promise<void> {
  for (const n of [1, 2, 3]) await log.append(requested(0, n));
  await log.close();
  onFile((db) => {
    const bytes = db.prepare('SELECT bytes FROM events WHERE "offset" = 1').get()?.['bytes'] as Uint8Array;
    const at = Buffer.from(bytes).indexOf('Ada, your');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    if (column === 'bytes') db.prepare('UPDATE events SET bytes = ? WHERE "offset" = 1').run(bytes);
    else db.exec('UPDATE events SET schema = schema + 64 WHERE "offset" = 1');
  });
  log = open();
}

describe('an event of which a bit has turned', () => {
  it.each(['bytes', 'schema'] as const)('in its %s does not decode, and those beside it do', async (column) => {
    await turnABit(column);
    const all = await entries();
    expect(all.map((entry) => entry.event !== null)).toEqual([true, false, true]);
    expect(all[1]?.undecodable?.reason).toContain('checksum');
  });

  it('does not decode in a copy either', async () => {
    await turnABit();
    await log.close();
    const source = openCopySource(join(folder, 'log.db'));
    const copied = await source.read({ topic: high, partition: 0, offset: 0, eventsMax: 9, bytesMax: 1_000_000 });
    expect(copied.map(({ bytes }) => bytes.length > 0)).toEqual([true, false, true]);
    const { type, fingerprint } = copied[1]?.schema ?? { type: '', fingerprint: '' };
    expect(() => createCodec().decode(type, fingerprint, Buffer.alloc(0))).toThrow();
    source.close();
  });
});

it('a log of before there were checksums opens as it is, and what is appended from then on has them', async () => {
  for (const n of [1, 2]) await log.append(requested(0, n));
  await log.close();
  onFile((db) => db.exec('ALTER TABLE events DROP COLUMN checksum'));
  const source = openCopySource(join(folder, 'log.db'));
  const copied = await source.read({ topic: high, partition: 0, offset: 0, eventsMax: 9, bytesMax: 1_000_000 });
  source.close();
  expect(copied.every(({ bytes }) => bytes.length > 0)).toBe(true);
  log = open();
  await log.append(requested(0, 3));
  expect((await entries()).map(bodyOf)).toEqual(Array(3).fill('Hello Ada, your order has been shipped.'));
  const checksums: unknown[] = [];
  onFile((db) => checksums.push(...db.prepare('SELECT checksum FROM events ORDER BY "offset"').all()));
  expect(checksums).toEqual([{ checksum: null }, { checksum: null }, { checksum: expect.any(Number) }]);
});
