// views.db held against the log at a start: it goes on where it follows from it, and is folded anew where it doesn't.

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { openEventLog, type SqliteEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { followLog } from '../../../src/adapters/sqlite/read-models/followed-log.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import { requested } from '../../support/requested.ts';
import { wallClock } from '../../support/wall-clock.ts';
import { silentLogger } from './silent-logger.ts';

const topic = workTopic('EMAIL', 'HIGH');
const definition = { name: 'test', collections: [{ name: 'tests', fields: {}, indexes: [] }] };
let folder: string;
const at = (name: string) => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-followed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A start: what was said of the read models, and, where events are appended, they are folded. */
async function start(appended = 0, file = 'log.db', how: 'folded' | 'folded ahead' = 'folded'): Promise<unknown> {
  const said: unknown[] = [];
  const log = openEventLog({
    path: at(file),
    topics: allTopics,
    groups: [],
    partitioning: defaultPartitioning,
    codec: createCodec(),
    clock: wallClock,
    logger: silentLogger,
  });
  followLog({
    path: at('views.db'),
    history: log.history,
    logger: { ...silentLogger, warn: (_, of) => said.push(of) },
  });
  for (let n = 0; n < appended; n++) await log.append(requested(0, n));
  if (appended > 0) await fold(log, how);
  await log.close();
  return said[0] ?? null;
}

async function fold(log: SqliteEventLog, how: 'folded' | 'folded ahead'): Promise<void> {
  const store = openReadModelStore({ path: at('views.db'), clock: createClock(), logger: silentLogger });
  await store.prepare(definition);
  const owner = await store.own('test', 0, { generation: 1 });
  const [end = 0] = await log.ends(topic);
  const offsets = new Map([[topic, end]]);
  const writes = [{ collection: 'tests', id: 'one', document: { end } }];
  if (how === 'folded') await store.transact(owner, offsets, writes);
  else await store.transact(owner, new Map(), writes, { offsets, behind: new Set() });
  await store.close();
}

/** As they lie in the folder now; put back by `restore`. */
const keep = (name: string, as: string) => cpSync(at(name), at(as));
const restore = (as: string, name: string) => {
  for (const beside of ['', '-wal', '-shm']) rmSync(`${at(name)}${beside}`, { force: true });
  cpSync(at(as), at(name));
};
const hasPositions = () => {
  const db = new DatabaseSync(at('views.db'));
  const found = db.prepare('SELECT * FROM positions').all().length > 0;
  db.close();
  return found;
};

it('goes on with its log however often that is opened', async () => {
  await start(3);
  for (let i = 0; i < 3; i++) expect(await start()).toBeNull();
  expect(await start(2)).toBeNull();
  expect(await start()).toBeNull();
  expect(hasPositions()).toBe(true);
});

it('is folded anew when the log is of an earlier time, and the events that are gone are counted', async () => {
  await start(3);
  keep('log.db', 'backup');
  await start(4);
  restore('backup', 'log.db');
  expect(await start()).toMatchObject({ events: 4 });
  expect(hasPositions()).toBe(false);
  expect(await start()).toBeNull();
});

it('is folded anew when the log is of a time before what was folded before its turn', async () => {
  await start(3);
  keep('log.db', 'backup');
  await start(4, 'log.db', 'folded ahead');
  restore('backup', 'log.db');
  expect(await start()).toMatchObject({ events: 4 });
  expect(hasPositions()).toBe(false);
});

it('is folded anew when the log went back and on again meanwhile, as far as before and further', async () => {
  await start(3);
  keep('log.db', 'backup');
  await start(4);
  keep('views.db', 'views of then');
  restore('backup', 'log.db');
  await start(4);
  await start(4);
  restore('views of then', 'views.db');
  expect(await start()).toMatchObject({ reason: expect.stringContaining('earlier time') });
});

it('goes on from an earlier backup of its own', async () => {
  await start(3);
  keep('views.db', 'backup');
  await start(4);
  await start(1);
  restore('backup', 'views.db');
  expect(await start()).toBeNull();
  expect(hasPositions()).toBe(true);
});

it('is folded anew when it was folded from another log, though that was shorter', async () => {
  await start(9, 'other.db');
  rmSync(at('views.db'));
  await start(2);
  expect(await start(0, 'other.db')).toMatchObject({ reason: expect.stringContaining('another log') });
});

it('of before openings were noted goes on with its log, and not with one that is shorter', async () => {
  await start(3);
  const forget = (file: string, table: string) => {
    const db = new DatabaseSync(at(file));
    db.exec(`DROP TABLE ${table}`);
    db.close();
  };
  forget('views.db', 'followed');
  forget('log.db', 'openings');
  keep('views.db', 'views of before');
  expect(await start()).toBeNull();
  restore('views of before', 'views.db');
  expect(await start(0, 'empty.db')).toMatchObject({ events: 3 });
});

it('goes on after a thousand starts, and is folded anew by a log that has forgotten its opening', async () => {
  await start(3);
  keep('views.db', 'early');
  const db = new DatabaseSync(at('log.db'));
  db.exec(`UPDATE openings SET number = number + 2000`);
  db.close();
  expect(await start()).toBeNull();
  const count = new DatabaseSync(at('log.db'));
  count.exec(`UPDATE openings SET number = number + 2000 WHERE number = (SELECT max(number) FROM openings)`);
  count.close();
  await start();
  restore('early', 'views.db');
  expect(await start()).toMatchObject({ reason: expect.stringContaining('earlier time') });
  expect(existsSync(at('views.db'))).toBe(true);
});
