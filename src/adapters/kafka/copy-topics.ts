// Whose times the entries of the log's topics have: their own while a log is copied in, the log's afterwards.

import kafkajs from 'kafkajs';

import type { Clock } from '../../ports/clock.ts';
import type { Admins } from './admin.ts';
import type { LogCluster } from './log-cluster.ts';
import { changeSettings, settingsOf } from './topic-settings.ts';
import { timestampType } from './topics.ts';

export interface TimestampDependencies {
  readonly admins: Admins;
  readonly cluster: LogCluster;
  readonly clock: Clock;
  /** The topics, as the brokers know them. */
  readonly names: readonly string[];
  readonly partitions: number;
}

const topicType = kafkajs.ConfigResourceTypes.TOPIC;
const appliedTries = 200;
const appliedTryMs = 50;
/** Between what a broker says of a topic and what its log does: it tells both in one go, the saying first. */
const graceMs = 500;

/** Resolves once every leader does so; topics that do are left alone. Their other settings stay what they are. */
export async function setTimestamps(of: TimestampDependencies, type: 'CreateTime' | 'LogAppendTime'): Promise<void> {
  const { admins, clock, names } = of;
  const altered = await admins.use(async (admin) => {
    const others = (await settingsOf(admin, names)).filter(({ values }) => values.get(timestampType) !== type);
    for (const topic of others) await changeSettings(admin, topic, { [timestampType]: type });
    return others.length;
  });
  if (altered === 0) return;
  await untilApplied(of, type);
  await clock.sleep(graceMs);
}

/** Settings travel through the cluster's metadata: each broker that leads a partition is asked what it has. */
async function untilApplied(of: TimestampDependencies, type: string): Promise<void> {
  const { cluster, clock, names } = of;
  await cluster.refresh();
  for (let tries = 0; tries < appliedTries; tries++) {
    const told = await Promise.all(leadersOf(of).map((leader) => saysAll(cluster, leader, names, type)));
    if (told.every(Boolean)) return;
    await clock.sleep(appliedTryMs);
  }
  throw new Error(`the brokers do not take ${timestampType}=${type}`);
}

function leadersOf({ cluster, names, partitions }: TimestampDependencies): number[] {
  const leaders = new Set<number>();
  for (const name of names) {
    for (let partition = 0; partition < partitions; partition++) {
      const leader = cluster.leaderOf(name, partition);
      if (leader !== null) leaders.add(leader);
    }
  }
  return [...leaders];
}

async function saysAll(cluster: LogCluster, leader: number, names: readonly string[], type: string): Promise<boolean> {
  const resources = names.map((name) => ({ type: topicType, name, configNames: [timestampType] }));
  const described = await cluster.ask(leader, (broker) => broker.describeConfigs({ resources }));
  return described.resources.every(({ configEntries: [entry] }) => entry?.configValue === type);
}
