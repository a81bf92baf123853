// What a Herald has on real engines, as one text that changes with any of it: topics and their ends, groups, and MongoDB's own hash of every collection.

import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';

import type { Environment } from './data-dir.ts';

export async function enginesContents({
  KAFKA_BROKERS: brokers = '',
  KAFKA_PREFIX: prefix = '',
  MONGODB_URL: url = '',
}: Environment): Promise<string> {
  return JSON.stringify([await kafkaContents(brokers.split(','), prefix), await mongoContents(url)]);
}

/** How many records these topics keep: between where they begin and where they end. */
export async function recordsInTopics(
  { KAFKA_BROKERS: brokers = '', KAFKA_PREFIX: prefix = '' }: Environment,
  topics: readonly string[],
): Promise<number> {
  const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(`${prefix}${topic}`)));
    return offsets.flat().reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  } finally {
    await admin.disconnect();
  }
}

/** Of all collections, as they are before they are packed. */
export async function bytesOfDocuments({ MONGODB_URL: url = '' }: Environment): Promise<number> {
  const client = await new MongoClient(url).connect();
  try {
    return Number((await client.db().stats())['dataSize']);
  } finally {
    await client.close();
  }
}

async function kafkaContents(brokers: readonly string[], prefix: string) {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix)).toSorted();
    const ends = [];
    for (const topic of topics) {
      const offsets = await admin.fetchTopicOffsets(topic);
      ends.push([topic, offsets.toSorted((a, b) => a.partition - b.partition).map(({ high }) => high)]);
    }
    const ours = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
    return { topics: ends, groups: ours.toSorted() };
  } finally {
    await admin.disconnect();
  }
}

async function mongoContents(url: string) {
  const client = await new MongoClient(url).connect();
  try {
    const { collections } = await client.db().command({ dbHash: 1 });
    return collections as Readonly<Record<string, string>>;
  } finally {
    await client.close();
  }
}
