// The MongoDB store of jobs: the contract over two processes' stores, and that the server removes what has long been over.

import { randomUUID } from 'node:crypto';

import { afterAll, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';

import { openMongoJobStore } from '../../../src/adapters/mongodb/jobs/store.ts';
import { endedJobsKeptMs } from '../../../src/domain/job.ts';
import { jobStoreContract, storedJob } from '../../contracts/job-store.ts';
import { engines } from '../../support/engines.ts';

const clients = [1, 2].map(
  () =>
    new MongoClient(engines().mongoUrl, {
      writeConcern: { w: 'majority', journal: true },
      readConcern: { level: 'majority' },
    }),
);
afterAll(() => Promise.all(clients.map((client) => client.close())));

async function open() {
  const name = `herald_jobs_${randomUUID().slice(0, 8)}`;
  const connections = clients.map((client) => ({ client, db: client.db(name), close: async () => {} }));
  const [one, two] = connections;
  if (one === undefined || two === undefined) throw new Error('there are two');
  return {
    db: one.db,
    store: await openMongoJobStore({ connection: one }),
    other: await openMongoJobStore({ connection: two }),
    close: async () => {
      await one.db.dropDatabase();
    },
  };
}

jobStoreContract('MongoDB', open);

describe('MongoDB: a store of jobs', () => {
  it('has the server remove a job a week after it is over, and none before', async () => {
    const { db, store, close } = await open();
    const job = storedJob('1');
    await store.add(job);
    const stored = () => db.collection('jobs').findOne({});
    expect((await stored())?.['forgottenAt']).toBeUndefined();
    await store.askStop(job.tenantId, job.id, job.createdAt);
    expect((await stored())?.['forgottenAt']).toEqual(new Date(job.createdAt + endedJobsKeptMs));
    const indexes = await db.collection('jobs').indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { forgottenAt: 1 }, expireAfterSeconds: 0 }));
    await close();
  });
});
