// Position 0 of the groups that a topic is made with, on every partition that has neither a position nor events, before anything may be appended.
//
// A process that found none could be overtaken before it writes: another one writes 0, dispatches, commits 5 and stops. So the writing is fenced: each
// process takes the one transactional id of the log first, which shuts out whoever had it, and only then looks; its offsets are written in a transaction
// that fails when it was shut out in between. Whoever consumes has been here before, so what it commits is seen by every later look.

import type { Admin, Kafka, Producer } from 'kafkajs';

import type { Topic } from '../../domain/topics.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Names } from './client.ts';
import type { LogCluster } from './log-cluster.ts';
import { offsetsOf } from './offsets-asked.ts';

export interface GroupTopics {
  readonly group: string;
  readonly topics: readonly Topic[];
}

export interface PositionDependencies {
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly cluster: LogCluster;
  readonly names: Names;
  readonly logger: Logger;
}

/** The partitions of one group that need a position, by the names of their topics. */
interface Missing {
  readonly group: string;
  readonly topics: { topic: string; partitions: { partition: number; offset: string }[] }[];
}

const transactionalName = 'notifications.positions';
/** The group coordinator shows what a transaction wrote a moment after it was committed. */
const visibleTries = 100;
const visibleTryMs = 50;

/** Safe to repeat, while groups are active, and for several processes at once. Never moves a position. */
export async function ensurePositions(deps: PositionDependencies, groups: readonly GroupTopics[]): Promise<void> {
  if ((await missingOf(deps, groups)).length === 0) return;
  const producer = deps.kafka.producer({
    transactionalId: deps.names.topic(transactionalName),
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
  });
  try {
    await producer.connect();
    await writeFenced(producer, () => missingOf(deps, groups));
  } finally {
    await producer.disconnect();
  }
  await untilVisible(deps, groups);
}

/** `look` runs once everybody else is shut out. */
async function writeFenced(producer: Producer, look: () => Promise<readonly Missing[]>): Promise<void> {
  const transaction = await producer.transaction();
  try {
    for (const { group, topics } of await look()) await transaction.sendOffsets({ consumerGroupId: group, topics });
    await transaction.commit();
  } catch (error) {
    // Nothing of it counts; if this fails too, the broker ends it after a minute.
    await transaction.abort().catch(() => {});
    throw error;
  }
}

async function untilVisible(deps: PositionDependencies, groups: readonly GroupTopics[]): Promise<void> {
  for (let tries = 0; tries < visibleTries; tries++) {
    if ((await missingOf(deps, groups)).length === 0) {
      deps.logger.info('groups begin at position 0', { groups: groups.map(({ group }) => group) });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, visibleTryMs));
  }
  throw new Error('the positions that were written are not to be seen');
}

async function missingOf(deps: PositionDependencies, groups: readonly GroupTopics[]): Promise<Missing[]> {
  const found = await Promise.all(groups.map((group) => missingOfGroup(deps, group)));
  return found.filter(({ topics }) => topics.length > 0);
}

async function missingOfGroup(
  { admin, cluster, names }: PositionDependencies,
  { group, topics }: GroupTopics,
): Promise<Missing> {
  const groupId = names.group(group);
  const missing: Missing = { group: groupId, topics: [] };
  const committed = await admin.fetchOffsets({ groupId, topics: topics.map(names.topic) });
  for (const { topic, partitions } of committed) {
    const without = partitions.filter(({ offset }) => Number(offset) < 0).map(({ partition }) => partition);
    if (without.length === 0) continue;
    const places = without.map((partition) => ({ topic, partition }));
    const ends = await offsetsOf(cluster, places, 'end');
    // Those that nothing was ever appended to: not merely nothing left.
    const at0 = without.filter((_, i) => ends[i] === 0).map((partition) => ({ partition, offset: '0' }));
    if (at0.length > 0) missing.topics.push({ topic, partitions: at0 });
  }
  return missing;
}
