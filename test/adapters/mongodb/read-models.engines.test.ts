// The MongoDB read-model store: the contract on a real server.

import { randomBytes } from 'node:crypto';

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
