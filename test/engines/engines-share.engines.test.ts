// What an end-to-end test leaves on the engines: nothing under its prefix, and all that isn't its own.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';

import { lsidOf } from '../../src/adapters/mongodb/read-models/owning.ts';
import { positionsOf } from '../../src/adapters/mongodb/read-models/positions.ts';
import { engines } from '../support/engines.ts';
import type { EnginesShare } from '../support/engines-share.ts';
import { makeShare } from '../support/engines-share.ts';
import { until } from '../support/until.ts';

const { kafkaBrokers, registryUrl, mongoUrl, redisUrl } = engines();
const kafka = new Kafka({ brokers: [...kafkaBrokers], logLevel: logLevel.NOTHING });
const mongo = new MongoClient(mongoUrl);
const redis = new Redis(redisUrl);
const shares = [makeShare(), makeShare()] as const;
const [removed, kept] = shares;

const prefixOf = (share: EnginesShare) => share.environment['KAFKA_PREFIX'] ?? '';
/** A subject that Herald makes. */
const versionsOf = (share: EnginesShare) =>
  `${registryUrl}/subjects/${prefixOf(share)}notifications.deliveries-herald.AttemptFailed/versions`;
const databaseOf = (share: EnginesShare) => mongo.db(new URL(share.environment['MONGODB_URL'] ?? '').pathname.slice(1));

/** A new one each time: kafkajs' admin asks for topics that it has once seen, those that are gone too. */
async function withAdmin<T>(act: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await act(admin);
  } finally {
    await admin.disconnect();
  }
}

async function fill(share: EnginesShare): Promise<void> {
  const prefix = prefixOf(share);
  const topic = `${prefix}topic`;
  const offsets = { groupId: `${prefix}group`, topic, partitions: [{ partition: 0, offset: '0' }] };
  await withAdmin((admin) => admin.createTopics({ topics: [{ topic }], waitForLeaders: false }));
  // The broker says for a moment that it doesn't know the topic, which kafkajs doesn't wait for.
  await until(
    () =>
      withAdmin((admin) => admin.setOffsets(offsets)).then(
        () => true,
        () => false,
      ),
    {
      timeoutMs: 30_000,
      what: 'the topic to be known',
    },
  );
  await fetch(versionsOf(share), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema: '"string"' }),
  });
  for (const name of ['settings_tenants', 'notifications', 'positions'])
    await databaseOf(share).collection(name).insertOne({ n: 1 });
  await redis.set(`${prefix}herald:key`, '1');
}

async function contents(share: EnginesShare) {
  const isOurs = (name: string) => name.startsWith(prefixOf(share));
  const { ok: hasSubject } = await fetch(versionsOf(share));
  const { topics, groups } = await withAdmin(async (admin) => ({
    topics: await admin.listTopics(),
    groups: (await admin.listGroups()).groups.map(({ groupId }) => groupId),
  }));
  return {
    topics: topics.filter(isOurs).length,
    groups: groups.filter(isOurs).length,
    subjects: hasSubject ? 1 : 0,
    collections: (await databaseOf(share).collections()).map((collection) => collection.collectionName).sort(),
    keys: (await redis.keys(`${prefixOf(share)}*`)).length,
  };
}

beforeAll(async () => {
  await mongo.connect();
  // At once: kafkajs takes 5 s to set an offset.
  await Promise.all(shares.map(fill));
}, 60_000);
afterAll(async () => {
  await kept.remove();
  await mongo.close();
  redis.disconnect();
});

describe('a share of the engines', () => {
  it('loses its read models and keeps its settings when it is told to', async () => {
    await removed.dropReadModels();
    expect(await contents(removed)).toMatchObject({ collections: ['settings_tenants'], topics: 1 });
  });

  it('is removed altogether, and no other with it', async () => {
    const before = await contents(kept);
    expect(before).toMatchObject({ topics: 1, groups: 1, subjects: 1, keys: 1 });
    await removed.remove();
    // A broker that is busy shows a topic for a moment after it has answered that it is gone.
    await until(async () => (await contents(removed)).topics === 0, { what: 'the topic to be gone', everyMs: 100 });
    expect(await contents(removed)).toEqual({ topics: 0, groups: 0, subjects: 0, collections: [], keys: 0 });
    expect(await contents(kept)).toEqual(before);
  });

  it('is removed at once where a process was killed inside a transaction: not when MongoDB ends that, after a minute', async () => {
    const share = makeShare();
    const session = mongo.startSession();
    const positions = positionsOf(databaseOf(share));
    const position = { partition: 0, epoch: 1, sequence: 1, offsets: '{}', lsid: lsidOf(session) };
    await positions.insertOne({ _id: 'notifications:1:0', ...position });
    session.startTransaction();
    await positions.updateOne({ partition: 0 }, { $set: { sequence: 2 } }, { session });
    const since = performance.now();
    await share.remove();
    expect(performance.now() - since).toBeLessThan(45_000);
    expect((await contents(share)).collections).toEqual([]);
    await session.endSession();
  });
});
