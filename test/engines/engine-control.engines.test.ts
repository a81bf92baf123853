// Engines of a test's own: they die, hang and come back when they are told to, with what they held, and nothing is left of them.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';

import type { OwnEngine } from '../support/engine-control.ts';
import { engineDataFolder, startOwnMongo, startOwnRedis } from '../support/engine-control.ts';

let mongo: OwnEngine;
let redis: OwnEngine;

beforeAll(async () => {
  [mongo, redis] = await Promise.all([startOwnMongo(), startOwnRedis()]);
});
afterAll(() => Promise.all([mongo.stop(), redis.stop()]));

describe('an own engine', () => {
  it('comes back from kill -9 on its port with what was acknowledged', async () => {
    const client = await new MongoClient(mongo.address, { serverSelectionTimeoutMS: 10_000 }).connect();
    const documents = client.db('own').collection<{ _id: number }>('documents');
    await documents.insertOne({ _id: 1 }, { writeConcern: { w: 'majority', j: true } });
    await mongo.kill();
    await mongo.start();
    expect(await documents.findOne()).toEqual({ _id: 1 });
    await client.close();
  });

  it('answers nothing while it is paused, on connections that stay open', async () => {
    const client = new Redis(redis.address);
    await client.ping();
    await redis.pause();
    let isAnswered = false;
    const answer = client.ping().then(() => (isAnswered = true));
    // The other server does answer meanwhile, so there was time enough.
    const other = await new MongoClient(mongo.address).connect();
    await other.db('own').command({ ping: 1 });
    await other.close();
    expect([isAnswered, client.status]).toEqual([false, 'ready']);
    await redis.resume();
    await answer;
    client.disconnect();
  });

  it('leaves neither a process nor a file behind', async () => {
    const { port } = new URL(mongo.address);
    const [data = ''] = globSync(join(engineDataFolder, `herald-engine-*/mongo/data-${port}`));
    expect(existsSync(data)).toBe(true);
    await mongo.stop();
    expect(existsSync(data)).toBe(false);
    const client = new MongoClient(mongo.address, { serverSelectionTimeoutMS: 500 });
    await expect(client.connect()).rejects.toThrow(/ECONNREFUSED/);
    await client.close();
  });
});
