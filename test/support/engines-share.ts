// One data folder's share of the real engines: topics, groups and keys under a prefix, a database, and how they are removed.

import { randomBytes } from 'node:crypto';

import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';

import { engines } from './engines.ts';
import { removeSubjects } from './registry-subjects.ts';
import { until } from './until.ts';

export interface EnginesShare {
  readonly environment: Readonly<Record<string, string>>;
  dropReadModels(): Promise<void>;
  remove(): Promise<void>;
}

/** The members of a killed process count for the 10 s of their session. */
const groupsEmptyMs = 15_000;

export function makeShare(): EnginesShare {
  const { kafkaBrokers, registryUrl, mongoUrl, redisUrl } = engines();
  const prefix = `e2e-${randomBytes(5).toString('hex')}.`;
  const database = prefix.replace(/\W/g, '');
  return {
    environment: {
      KAFKA_BROKERS: kafkaBrokers.join(','),
      KAFKA_PREFIX: prefix,
      SCHEMA_REGISTRY_URL: registryUrl,
      MONGODB_URL: withDatabase(mongoUrl, database),
      REDIS_URL: redisUrl,
    },
    dropReadModels: () => dropReadModels(mongoUrl, database),
    async remove() {
      await removeTopicsAndGroups(kafkaBrokers, prefix);
      await removeSubjects(registryUrl, prefix);
      await removeDatabase(mongoUrl, database);
      await removeKeys(redisUrl, prefix);
    },
  };
}

/** By text: a URL of several hosts is none to `URL`. */
function withDatabase(url: string, database: string): string {
  return url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${database}`);
}

async function removeTopicsAndGroups(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const ours = async () =>
      (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
    await until(
      async () => {
        const groups = await ours();
        if (groups.length > 0) await admin.deleteGroups(groups).catch(() => undefined);
        return (await ours()).length === 0;
      },
      { timeoutMs: groupsEmptyMs, everyMs: 250, what: 'the groups to be empty and removed' },
    );
  } finally {
    // Last: kafkajs' admin can't ask for anything more once topics that it knows are gone.
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    await admin.disconnect();
  }
}

async function removeDatabase(url: string, database: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  try {
    await client.db(database).dropDatabase();
  } finally {
    await client.close();
  }
}

async function dropReadModels(url: string, database: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  try {
    const collections = await client.db(database).collections();
    for (const collection of collections)
      if (!collection.collectionName.startsWith('settings')) await collection.drop();
  } finally {
    await client.close();
  }
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 }))
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  } finally {
    redis.disconnect();
  }
}
