// The MongoDB store of idempotency keys: the contract over two processes' stores, and that the server removes what has expired.

import { randomUUID } from 'node:crypto';

import { afterAll, describe, expect, it } from '@jest/globals';
import type { CommandStartedEvent } from 'mongodb';
import { MongoClient } from 'mongodb';

import { openMongoIdempotencyStore } from '../../../src/adapters/mongodb/idempotency/store.ts';
import { acceptingOnceContract } from '../../contracts/accepting-once.ts';
import { idempotencyStoreContract, keyEntry } from '../../contracts/idempotency-store.ts';
import { engines } from '../../support/engines.ts';

const clients = [1, 2].map(
  () =>
    new MongoClient(engines().mongoUrl, {
      writeConcern: { w: 'majority', journal: true },
      readConcern: { level: 'majority' },
      monitorCommands: true,
    }),
);
afterAll(() => Promise.all(clients.map((client) => client.close())));

async function open() {
  const name = `herald_keys_${randomUUID().slice(0, 8)}`;
  const connections = clients.map((client) => ({ client, db: client.db(name), close: async () => {} }));
  const [one, two] = connections;
  if (one === undefined || two === undefined) throw new Error('there are two');
  return {
    db: one.db,
    store: await openMongoIdempotencyStore({ connection: one }),
    other: await openMongoIdempotencyStore({ connection: two }),
    close: async () => {
      await one.db.dropDatabase();
    },
  };
}

idempotencyStoreContract('MongoDB', open);
acceptingOnceContract('MongoDB', open);

describe('MongoDB: a store of idempotency keys', () => {
  it('reserves and settles the keys of a turn in a request each, and says of each whether it was held', async () => {
    const { db, store, other, close } = await open();
    const entries = Array.from({ length: 100 }, (_, i) => keyEntry({ keyHash: `hash-${i}` }));
    const now = keyEntry().requestedAt;
    for (const entry of entries.slice(0, 3)) await other.reserve(entry, now);
    const sent: string[] = [];
    const note = ({ commandName, databaseName }: CommandStartedEvent) =>
      void (databaseName === db.databaseName && sent.push(commandName));
    clients[0]?.on('commandStarted', note);
    const held = await Promise.all(entries.map((entry) => store.reserve(entry, now)));
    expect(held.map((entry) => entry?.keyHash ?? null)).toEqual(
      entries.map(({ keyHash }, i) => (i < 3 ? keyHash : null)),
    );
    await Promise.all(entries.map((entry) => store.settle({ ...entry, leaseUntil: null })));
    clients[0]?.off('commandStarted', note);
    expect(sent.toSorted()).toEqual(['find', 'update', 'update']);
    expect(await db.collection('idempotency_keys').countDocuments({ leaseUntil: null })).toBe(100);
    await close();
  });

  it('has the server remove a key an hour after it has expired', async () => {
    const { db, store, close } = await open();
    await store.reserve(keyEntry(), keyEntry().requestedAt);
    const [document] = await db.collection('idempotency_keys').find().toArray();
    expect(document?.['expiresAt']).toEqual(new Date(keyEntry().requestedAt + 24 * 60 * 60 * 1000));
    const indexes = await db.collection('idempotency_keys').indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 3600 }));
    await close();
  });
});
