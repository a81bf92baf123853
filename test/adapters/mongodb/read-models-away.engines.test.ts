// MongoDB killed, hanging and back under the read models: nothing is folded twice or missing, calls reject in time, and all works again by itself.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { connectMongo } from '../../../src/adapters/mongodb/connection.ts';
import { openMongoReadModelReader } from '../../../src/adapters/mongodb/read-models/reader.ts';
import { openMongoReadModelStore } from '../../../src/adapters/mongodb/read-models/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { StaleOwnerError } from '../../../src/ports/event-log.ts';
import type { Ownership, ReadModelReader, ReadModelStore, Write } from '../../../src/ports/read-model-store.ts';
import { letters } from '../../contracts/read-model-store.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnMongo } from '../../support/engine-control.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';

const clock = createClock();
const awayMs = 5000;
let server: OwnEngine;
let connection: MongoConnection;
let store: ReadModelStore;
let reader: ReadModelReader & { close(): void };

beforeAll(async () => {
  server = await startOwnMongo();
}, 60_000);
afterAll(() => server.stop(), 60_000);

beforeEach(async () => {
  connection = await connectMongo({ url: server.address, logger });
  store = openMongoReadModelStore({ connection, logger, clock });
  reader = openMongoReadModelReader({ connection, logger, clock });
  await store.prepare(letters);
});
afterEach(async () => {
  await connection.db.dropDatabase();
  reader.close();
  await store.close();
  await connection.close();
});

const letter = (id: string, at: number): Write => ({
  collection: 'letters',
  id,
  document: { tenant: 'a', at, status: 'new', tag: null, text: id },
});
const batch = (partition: number, n: number): Write[] => [
  ...Array.from({ length: 20 }, (_, i) => ({ ...letter(`${partition}-${n}-${i}`, n), isNew: true })),
  { collection: 'counts', id: `${partition}`, document: { n } },
];

/** Folds on as a projector does, a batch after the other and each until it works. Ends with the signal, or when the number is lost. */
async function foldOn(
  partition: number,
  signal: AbortSignal,
): Promise<{ readonly done: number; readonly failed: number }> {
  let owner: Ownership = await store.own('letters', partition, { generation: 1 });
  let [done, failed] = [0, 0];
  while (!signal.aborted) {
    try {
      owner = await store.transact(owner, new Map([['work', done + 1]]), batch(partition, done + 1));
      done++;
    } catch (error) {
      if (error instanceof StaleOwnerError) throw error;
      failed++;
      await clock.sleep(50);
    }
  }
  return { done, failed };
}

const queries: Readonly<Record<string, () => Promise<unknown>>> = {
  get: () => reader.get('letters', ['1']),
  find: () =>
    reader.find({
      collection: 'letters',
      equals: { tenant: 'a' },
      order: { fields: ['at'], direction: 'descending' },
      limit: 10,
    }),
  count: () => reader.count({ collection: 'letters', equals: { tenant: 'a' } }, 100),
  positions: () => reader.positions('letters', 0),
};

/** ms until it rejected; fails when it resolves. */
async function msToReject(call: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await expect(call()).rejects.toThrow();
  return performance.now() - begun;
}

async function expectAway(): Promise<void> {
  const owner = await owned;
  const write = () => store.transact(owner, new Map([['work', 1]]), [letter('1', 1)]);
  const [queryMs, writeMs, ready] = await Promise.all([
    Promise.all(Object.values(queries).map(msToReject)),
    Promise.all([write, () => store.own('letters', 1, { generation: 1 })].map(msToReject)),
    reader.ready(),
  ]);
  // 4.5 s by the timeouts of the connection; the rest is for a busy machine.
  expect(Math.max(...queryMs)).toBeLessThan(7000);
  expect(Math.max(...writeMs)).toBeLessThan(10_000);
  expect(ready).toBe(false);
  expect(Math.max(...(await Promise.all(Object.values(queries).map(msToReject))))).toBeLessThan(3000);
}

let owned: Promise<Ownership>;

/** Queries, the owner's batch that failed, and listeners. */
async function expectBack(): Promise<void> {
  await until(() => reader.ready(), { timeoutMs: 20_000, what: 'the store to answer' });
  await Promise.all(Object.values(queries).map((query) => query()));
  let calls = 0;
  const end = reader.onChange('letters', () => calls++);
  const next = await store.transact(await owned, new Map([['work', 1]]), [letter('1', 1)]);
  expect((await reader.get('letters', ['1'])).size).toBe(1);
  await until(() => calls > 0, { what: 'a listener to be called' });
  end();
  await store.transact(next, new Map([['work', 2]]), []);
  expect(await reader.positions('letters', 0)).toEqual(new Map([['work', 2]]));
}

describe('MongoDB killed under load, three times', () => {
  it('has every batch once, whatever became of the answer to its commit', async () => {
    const ending = new AbortController();
    const folding = [0, 1, 2, 3].map((partition) => foldOn(partition, ending.signal));
    const reached = async (partition: number) => (await reader.positions('letters', partition)).get('work') ?? 0;
    for (let kills = 0; kills < 3; kills++) {
      const before = await reached(0);
      await until(async () => (await reached(0).catch(() => 0)) > before + 5, { timeoutMs: 30_000, what: 'folds' });
      await server.kill();
      await server.start();
    }
    const before = await until(() => reached(0).catch(() => null), { timeoutMs: 30_000, what: 'the store' });
    await until(async () => (await reached(0)) > before + 5, { timeoutMs: 30_000, what: 'folds' });
    ending.abort();
    const ends = await Promise.all(folding);

    expect(ends.reduce((sum, { failed }) => sum + failed, 0)).toBeGreaterThan(0);
    for (const [partition, { done }] of ends.entries()) {
      expect(await reached(partition)).toBe(done);
      const position = await connection.db.collection('read_model_positions').findOne({ partition });
      // One more for each transaction that was applied.
      expect(position).toMatchObject({ sequence: done, epoch: 1 });
      expect((await reader.get('counts', [`${partition}`])).get(`${partition}`)).toEqual({ n: done });
    }
    const { count } = await reader.count({ collection: 'letters', equals: { tenant: 'a' } }, 1_000_000);
    expect(count).toBe(20 * ends.reduce((sum, { done }) => sum + done, 0));
  }, 120_000);
});

describe('MongoDB away for 5 s', () => {
  beforeEach(async () => {
    owned = store.own('letters', 0, { generation: 1 });
    await owned;
    // Listeners follow a stream that will break.
    reader.onChange('letters', () => undefined);
    await Promise.all(Object.values(queries).map((query) => query()));
  });

  const away = async (begin: () => Promise<void>, end: () => Promise<void>) => {
    await begin();
    const begun = performance.now();
    try {
      await expectAway();
      await until(() => performance.now() - begun > awayMs, { what: 'the time to be over' });
    } finally {
      await end();
    }
    await expectBack();
  };

  it(
    'killed: queries reject within seconds, and all works again without a restart',
    () => away(server.kill, server.start),
    60_000,
  );

  it(
    'hanging: queries reject within seconds, and all works again without a restart',
    () => away(server.pause, server.resume),
    60_000,
  );
});
