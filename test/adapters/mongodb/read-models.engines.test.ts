// The MongoDB read-model store: the contract on a real server, and batches that one command can't hold.

import { randomBytes } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import type { MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { connectMongo } from '../../../src/adapters/mongodb/connection.ts';
import { openMongoReadModelReader } from '../../../src/adapters/mongodb/read-models/reader.ts';
import { openMongoReadModelStore } from '../../../src/adapters/mongodb/read-models/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { letters, readModelStoreContract } from '../../contracts/read-model-store.ts';
import { engines } from '../../support/engines.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';

const clock = createClock();

readModelStoreContract('MongoDB', async () => {
  const url = new URL(engines().mongoUrl);
  url.pathname = `/herald_test_${randomBytes(6).toString('hex')}`;
  const connect = () => connectMongo({ url: url.href, logger });
  const open = (connection: MongoConnection) => {
    const store = openMongoReadModelStore({ connection, logger, clock });
    const reader = openMongoReadModelReader({ connection, logger, clock });
    return { store, reader, connection };
  };
  const close = async ({ store, reader, connection }: ReturnType<typeof open>) => {
    reader.close();
    await store.close();
    await connection.close();
  };
  let opened = open(await connect());
  return {
    get store() {
      return opened.store;
    },
    get reader() {
      return opened.reader;
    },
    async reopen() {
      await close(opened);
      opened = open(await connect());
      await opened.store.prepare(letters);
    },
    async close() {
      await opened.connection.db.dropDatabase();
      await close(opened);
    },
  };
});

describe('MongoDB: a batch', () => {
  it('of more than one command takes is written all the same: 27 MB of characters that are three bytes each', async () => {
    const url = new URL(engines().mongoUrl);
    url.pathname = `/herald_test_${randomBytes(6).toString('hex')}`;
    const connection = await connectMongo({ url: url.href, logger });
    const store = openMongoReadModelStore({ connection, logger, clock });
    await store.prepare(letters);
    const text = '€'.repeat(100_000);
    const ids = Array.from({ length: 90 }, (_, i) => `${i}`);
    const write = (id: string) => ({
      collection: 'letters',
      id,
      document: { tenant: 'a', at: 1, status: 'new', tag: null, text },
    });
    const inserted = ids.map((id) => ({ ...write(id), isNew: true }));
    const owner = await store.transact(
      await store.own('letters', 0, { generation: 1 }),
      new Map([['work', 1]]),
      inserted,
    );
    await store.transact(owner, new Map([['work', 2]]), ids.map(write));
    const { count } = await store.count({ collection: 'letters', equals: { tenant: 'a' } }, 100);
    expect(count).toBe(90);
    await connection.db.dropDatabase();
    await store.close();
    await connection.close();
  }, 60_000);
});

it('MongoDB: a shape of documents is no part of a stored definition, so that a start where there was none finds nothing to fill', async () => {
  const url = new URL(engines().mongoUrl);
  url.pathname = `/herald_test_${randomBytes(6).toString('hex')}`;
  const connection = await connectMongo({ url: url.href, logger });
  const store = openMongoReadModelStore({ connection, logger, clock });
  const withoutShape = letters.collections.map((collection) => {
    const { shape: _shape, ...declared } = collection;
    return declared;
  });
  await store.prepare({ ...letters, collections: withoutShape });
  const stored = () => connection.db.collection('read_models').findOne();
  const before = await stored();
  expect(letters.collections.some(({ shape }) => shape !== undefined)).toBe(true);
  await store.prepare(letters);
  expect(await stored()).toEqual(before);
  await connection.db.dropDatabase();
  await store.close();
  await connection.close();
});

/** Its process is killed once it has written so often: whatever it would write then is refused. */
function killedBehind(connection: MongoConnection, writes: number): MongoConnection {
  let left = writes;
  const db = new Proxy(connection.db, {
    get(of, name) {
      if (name !== 'collection') return Reflect.get(of, name, of) as unknown;
      return (collection: string) =>
        new Proxy(of.collection(collection), {
          get(target, call) {
            const value = Reflect.get(target, call, target) as unknown;
            if (typeof value !== 'function') return value;
            return (...args: unknown[]): unknown => {
              if (/^(?:find\w+And|update|delete|insert|drop)/.test(String(call)) && --left < 0)
                return Promise.reject(new Error('killed'));
              return Reflect.apply(value, target, args);
            };
          },
        });
    },
  });
  return { ...connection, db };
}

it.each(['release', 'letGo', 'abandon'] as const)(
  'MongoDB: whichever write of %s a process is killed behind, the version in use may be owned once whoever finishes the rebuild has let go',
  async (call) => {
    for (let writes = 0; ; writes++) {
      const url = new URL(engines().mongoUrl);
      url.pathname = `/herald_test_${randomBytes(6).toString('hex')}`;
      const connection = await connectMongo({ url: url.href, logger });
      const store = openMongoReadModelStore({ connection, logger, clock });
      await store.prepare(letters);
      await store.own('letters', 0, { generation: 1 });
      await (await store.beginRebuild(letters)).close();
      const version = (await store.nextVersion(letters)) ?? 0;
      // Fenced, and held by one who is killed.
      const holding = openMongoReadModelStore({ connection: killedBehind(connection, 3 + writes), logger, clock });
      const killed = openMongoReadModelStore({ connection: killedBehind(connection, writes), logger, clock });
      const held = await holding.hold(letters, version);
      const calls = {
        release: () => held?.release(),
        letGo: () => killed.letGo(letters, version),
        abandon: () => killed.abandon(letters),
      };
      const isKilled = await Promise.resolve(calls[call]()).then(
        () => false,
        () => true,
      );
      // As whoever finishes it does while there is a next version.
      const next = await store.nextVersion(letters);
      if (next !== null) await store.letGo(letters, next);
      const isOwned = await store.own('letters', 0, { generation: 2 }).then(
        () => true,
        () => false,
      );
      expect({ writes, isOwned }).toEqual({ writes, isOwned: true });
      await connection.db.dropDatabase();
      for (const one of [held?.next, holding, killed, store]) await one?.close();
      await connection.close();
      if (!isKilled) {
        // It has written, else nothing was shown.
        expect(writes).toBeGreaterThan(1);
        return;
      }
    }
  },
  60_000,
);
