// The topics of the log on the brokers: made where they are missing, checked where they are there.

import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs';

import type { Logger } from '../../ports/logger.ts';
import { losesNothing } from './topic-retention.ts';
import { StartRefusal } from './wait-until-up.ts';

export interface TopicSettings {
  /** null: the broker's default. */
  readonly replication: number | null;
  /** 'CreateTime': entries come with their own times, from another log. Absent: the log says when it took them. */
  readonly timestamps?: 'CreateTime';
}

/**
 * The largest event is a dead letter: the base64 (4/3) of the largest notification event, which holds the body rendered and raw (200 KiB each), data
 * (64 KiB), metadata (20 x 564 characters) and the rest of a request of 256 KiB: under 768 KiB, so 1 MiB as base64. A batch is at most 256 KiB or one
 * event alone. Twice that, since a topic's limit is the one thing here that would turn an event away.
 */
const messageBytesMax = 2 * 1024 * 1024;

export const timestampType = 'message.timestamp.type';

/** What is said where a topic has it otherwise; what it loses by its settings is topic-retention's. */
const needed: Readonly<Record<string, string>> = {
  [timestampType]: 'LogAppendTime',
  'max.message.bytes': String(messageBytesMax),
};
const always: Readonly<Record<string, string>> = { ...losesNothing, ...needed };
/** With so many replicas an append needs two of them. */
const replicasForIsr = 3;
const minInSyncReplicas = '2';

/** Well under the admin's own timeout of 10 s. */
const createTimeoutMs = 8_000;
const leaderTries = 100;
const leaderTryMs = 100;

/**
 * Makes what is missing, in one request; never relies on auto-create. Safe to repeat, and for several processes at once.
 * @throws StartRefusal when a topic has another number of partitions
 */
export async function ensureTopics(
  admin: Admin,
  names: readonly string[],
  partitions: number,
  settings: TopicSettings & { logger: Logger },
): Promise<void> {
  const { logger } = settings;
  const existing = new Set(await admin.listTopics());
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length > 0) {
    await make(admin, missing, partitions, settings);
    logger.info('topics made', { topics: missing.length, partitions });
  }
  await checkCounts(admin, names, partitions);
  if (missing.length > 0) await untilServed(admin, missing);
  const found = names.filter((name) => existing.has(name));
  if (found.length > 0 && settings.timestamps === undefined) await warnOfSettings(admin, found, logger);
}

/** Another process may be doing it at the same time: what is there already is no error. */
async function make(admin: Admin, names: readonly string[], partitions: number, settings: TopicSettings) {
  const topics = names.map((name) => topicOf(name, partitions, settings));
  await admin.createTopics({ topics, timeout: createTimeoutMs, waitForLeaders: false });
}

function topicOf(topic: string, partitions: number, { replication, timestamps }: TopicSettings): ITopicConfig {
  const settings = {
    ...always,
    ...(replication !== null && replication >= replicasForIsr ? { 'min.insync.replicas': minInSyncReplicas } : {}),
    ...(timestamps === undefined ? {} : { [timestampType]: timestamps }),
  };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  return {
    topic,
    numPartitions: partitions,
    configEntries,
    ...(replication === null ? {} : { replicationFactor: replication }),
  };
}

/** A topic that was just made takes a moment until every broker knows it and its leaders. */
async function checkCounts(admin: Admin, names: readonly string[], partitions: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
      const untold = names.find((name) => topics.every((topic) => topic.name !== name));
      if (untold !== undefined) {
        // Asked for alone: what the brokers have against it is the answer.
        await admin.fetchTopicMetadata({ topics: [untold] });
        throw new Error(`not every broker knows ${untold} yet`);
      }
      for (const { name, partitions: has } of topics) {
        if (has.length === partitions) continue;
        throw new StartRefusal(
          `Topic ${name} has ${has.length} partitions, not ${partitions}: a partition number means the same in every topic. ` +
            'Give the topics of this log a prefix of their own, or set the partitions that it was made with.',
        );
      }
      return;
    } catch (error) {
      if (error instanceof StartRefusal || tries >= leaderTries) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, leaderTryMs));
  }
}

/** The brokers know a topic before its leaders serve it. */
async function untilServed(admin: Admin, names: readonly string[]): Promise<void> {
  for (const name of names) {
    for (let tries = 1; ; tries++) {
      try {
        await admin.fetchTopicOffsets(name);
        break;
      } catch (error) {
        if (tries >= leaderTries) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, leaderTryMs));
    }
  }
}

/** Whoever made the topics may have had reasons, so it is said, not refused. */
async function warnOfSettings(admin: Admin, names: readonly string[], logger: Logger): Promise<void> {
  const configNames = Object.keys(needed);
  const resources = names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames }));
  try {
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    for (const { resourceName: topic, configEntries } of described.resources) {
      const odd = configEntries.filter(({ configName, configValue }) => !isFit(configName, configValue));
      if (odd.length === 0) continue;
      const settings = Object.fromEntries(odd.map(({ configName, configValue }) => [configName, configValue]));
      logger.warn('a topic is not set up as the log needs it', { topic, settings, needed });
    }
  } catch (error) {
    logger.debug('the settings of the topics could not be read', { err: error });
  }
}

function isFit(name: string, value: string): boolean {
  if (name === 'max.message.bytes') return Number(value) >= messageBytesMax;
  return needed[name] === undefined || needed[name] === value;
}
