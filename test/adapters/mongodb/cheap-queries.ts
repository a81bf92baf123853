// Whether what a store sends to MongoDB is cheap: recorded while it is used, then explained by the server.

import { randomBytes } from 'node:crypto';

import { afterAll, expect } from '@jest/globals';
import type { Db, Document } from 'mongodb';
import { MongoClient } from 'mongodb';

import type { MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { openMongoReadModelStore } from '../../../src/adapters/mongodb/read-models/store.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { rowsPerPageMax } from '../../../src/ports/read-model-store.ts';
import { engines } from '../../support/engines.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';
import type { Explained } from './recorded-commands.ts';
import { explained, recordCommands } from './recorded-commands.ts';

export type Store = ReturnType<typeof openMongoReadModelStore>;

export const clock = createClock();
/** One for all stores of a test file: their commands are told apart by their databases, which go with the file. */
export const client = new MongoClient(engines().mongoUrl, { monitorCommands: true, writeConcern: { w: 'majority' } });
const dbs: Db[] = [];
afterAll(async () => {
  for (const db of dbs) await db.dropDatabase();
  await client.close();
});

/** On a database of its own. */
export function openStore(): { readonly connection: MongoConnection; readonly db: Db; readonly store: Store } {
  const db = client.db(`herald_explained_${randomBytes(6).toString('hex')}`);
  dbs.push(db);
  const connection = { client, db, close: async () => {} };
  return { connection, db, store: openMongoReadModelStore({ connection, logger, clock }) };
}

/** What was sent meanwhile. */
export async function sentBy(db: Db, work: () => Promise<unknown>): Promise<readonly Document[]> {
  const recorded = recordCommands(client, db);
  try {
    await work();
    return recorded.queries();
  } finally {
    recorded.stop();
  }
}

/** By an index, in its order, and with no more looked at than a page may cost. */
export async function expectCheap(db: Db, queries: readonly Document[]): Promise<void> {
  const dear: Explained[] = [];
  await inParallel(queries, async (query) => {
    const found = await explained(db, query);
    const rowsMax = budgetOf(query);
    // What only skips reads the index alone.
    const docsMax = query['skip'] === undefined ? rowsMax : 0;
    const isServed = found.stages.some((stage) => byIndex.has(stage));
    const isScanned = found.stages.some((stage) => /^(COLLSCAN|SORT)/.test(stage));
    // A scan of an index looks at the key after its last one.
    if (!isServed || isScanned || found.docsExamined > docsMax || found.keysExamined > rowsMax + 1) dear.push(found);
  });
  expect(dear).toEqual([]);
}

/** A few at a time. */
export async function inParallel<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const workOn = async () => {
    for (const one of left) await work(one);
  };
  await Promise.all([workOn(), workOn(), workOn(), workOn()]);
}

/** A page is asked for with one row more, which tells whether there is another; a count looks at its cap and one more. */
export function budgetOf(query: Document): number {
  const pipeline = (query['aggregate'] === undefined ? [] : query['pipeline']) as readonly Document[];
  const limit: unknown = pipeline.find((stage) => '$limit' in stage)?.['$limit'];
  return typeof limit === 'number' && limit <= countedMax + 1 ? limit : rowsPerPageMax + 1;
}

const byIndex = new Set(['IXSCAN', 'IDHACK', 'COUNT_SCAN']);
const countedMax = 10_000;
