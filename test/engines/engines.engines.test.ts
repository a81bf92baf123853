// The real engines that the tests run on are what the service needs: brokers, Avro by a registry, transactions, Redis.

import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';

import { engineSet } from '../support/engine-set.ts';
import { engines } from '../support/engines.ts';

describe('the engines of this run', () => {
  const { kafkaBrokers, registryUrl, mongoUrl, redisUrl } = engines();

  it('are real ones', () => {
    expect(engineSet).toBe('real');
  });

  it('are a Kafka with the brokers that it was asked for', async () => {
    const admin = new Kafka({ brokers: [...kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    await admin.disconnect();
    expect(brokers).toHaveLength(kafkaBrokers.length);
  });

  it('are a registry with the Confluent API', async () => {
    const response = await fetch(`${registryUrl}/subjects`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(expect.any(Array));
  });

  it('are a MongoDB with transactions', async () => {
    const client = await new MongoClient(mongoUrl).connect();
    const hello = await client.db('admin').command({ hello: 1 });
    await client.close();
    expect(hello).toMatchObject({ isWritablePrimary: true, setName: expect.any(String) });
  });

  it('are a Redis', async () => {
    const redis = new Redis(redisUrl);
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
  });
});
