// One data folder's share of the real engines: topics, groups and keys under a prefix, a database, and how they are removed.

import { randomBytes } from 'node:crypto';

import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';

import { positionsOf } from '../../src/adapters/mongodb/read-models/positions.ts';
import { engines } from './engines.ts';
import { removeSubjects } from './registry-subjects.ts';

export interface EnginesShare {
  readonly environment: Readonly<Record<string, string>>;
  dropReadModels(): Promise<void>;
  /** Topics and groups alone: another log begins anew, with schemas that are registered already. */
  removeLog(): Promise<void>;
  remove(): Promise<void>;
}

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
    removeLog: () => removeTopicsAndGroups(kafkaBrokers, prefix),
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

export async function removeTopicsAndGroups(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    const ours = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
    // One with members of a killed process can't be deleted for the 10 s of their session: without its topics it has no offsets, and Kafka forgets it.
    if (ours.length > 0) await admin.deleteGroups(ours).catch(() => undefined);
  } finally {
    // Last: kafkajs' admin can't ask for anything more once topics that it knows are gone.
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    // A broker shows one for a moment after it has said that it is gone.
    const unlessGone = (error: unknown) => {
      if (!(error instanceof Error && error.message.includes('does not host this topic'))) throw error;
    };
    if (topics.length > 0) await admin.deleteTopics({ topics }).catch(unlessGone);
    await admin.disconnect();
  }
}

async function removeDatabase(url: string, database: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  try {
    await endTransactions(client, database);
    await client.db(database).dropDatabase();
  } finally {
    await client.close();
  }
}

/** Of projectors that were killed inside one: its locks would hold up whoever drops what it has touched, for the minute that MongoDB gives it. */
async function endTransactions(client: MongoClient, database: string): Promise<void> {
  const positions = await positionsOf(client.db(database))
    .find({ lsid: { $exists: true } })
    .toArray();
  const sessions = positions.map(({ lsid }) => ({ id: lsid }));
  if (sessions.length > 0) await client.db('admin').command({ killSessions: sessions });
}

async function dropReadModels(url: string, database: string): Promise<void> {
  const client = await new MongoClient(url).connect();
  try {
    await endTransactions(client, database);
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
