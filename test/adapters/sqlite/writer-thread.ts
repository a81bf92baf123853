// The worker thread of a test: writes batches into a read model as fast as it can.

import { workerData } from 'node:worker_threads';

import { createClock } from '../../../src/adapters/node/clock.ts';
import type { ChangeSignalEnd } from '../../../src/adapters/sqlite/read-models/change-signal.ts';
import { openReadModelStore } from '../../../src/adapters/sqlite/read-models/store.ts';
import { silentLogger as logger } from './silent-logger.ts';

const { path, changes, batches } = workerData as { path: string; changes: ChangeSignalEnd; batches: number };
const definition = { name: 'letters', collections: [{ name: 'letters', fields: {}, indexes: [] }] };
const store = openReadModelStore({ path, clock: createClock(), logger, changes });
await store.prepare(definition);
let owner = await store.own('letters', 0, { generation: 1 });
for (let offset = 1; offset <= batches; offset++) {
  const write = { collection: 'letters', id: `${offset}`, document: { offset } };
  owner = await store.transact(owner, new Map([['work', offset]]), [write]);
}
await store.close();
