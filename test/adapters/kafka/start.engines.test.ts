// What a start makes and checks on the brokers: topics, how the log was made, position 0 of its groups.

import { afterEach, describe, expect, it, jest } from '@jest/globals';
import kafkajs from 'kafkajs';

import { createAdmins } from '../../../src/adapters/kafka/admin.ts';
import { createKafkaClient } from '../../../src/adapters/kafka/client.ts';
import { createLogCluster } from '../../../src/adapters/kafka/log-cluster.ts';
import { ensurePositions } from '../../../src/adapters/kafka/positions.ts';
import { allTopics, defaultPartitioning, type Topic, workTopic } from '../../../src/domain/topics.ts';
import { freePort } from '../../support/free-ports.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { type LogWorld, makeLogWorld } from './log-world.ts';

jest.setTimeout(90_000);

const group = 'dispatcher-email';
const high = workTopic('EMAIL', 'HIGH');
const bulk = workTopic('EMAIL', 'BULK');
const few = { partitioning: defaultPartitioning, topics: [high, bulk], groups: [{ group, topics: [high, bulk] }] };
const zeros = Array.from({ length: 12 }, () => ({ offset: 0, metadata: '' }));

describe('the start of a log on Kafka', () => {
  const worlds: LogWorld[] = [];
  const makeWorld = (...of: Parameters<typeof makeLogWorld>) => {
    const world = makeLogWorld(...of);
    worlds.push(world);
    return world;
  };
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.remove();
  });

  it('makes every topic with its partitions, kept without end, stamped by the broker', async () => {
    const world = makeWorld();
    await world.open();
    const described = await describeTopics(world, allTopics);
    expect(described.size).toBe(allTopics.length);
    for (const { partitions, settings } of described.values()) {
      expect(partitions).toBe(12);
      expect(settings).toMatchObject({
        'cleanup.policy': 'delete',
        'retention.ms': '-1',
        'retention.bytes': '-1',
        'message.timestamp.type': 'LogAppendTime',
      });
    }
  });

  it('refuses topics of another number of partitions, naming one with both counts', async () => {
    const world = makeWorld();
    const name = world.settings.prefix + bulk;
    await withAdmin(world, (admin) =>
      admin.createTopics({ topics: [{ topic: name, numPartitions: 3 }], waitForLeaders: false }),
    );
    await expect(world.open({ shape: few })).rejects.toThrow(`Topic ${name} has 3 partitions, not 12`);
  });

  it('says which topic is set up otherwise than the log needs it', async () => {
    const world = makeWorld();
    const topic = world.settings.prefix + bulk;
    const configEntries = [{ name: 'message.timestamp.type', value: 'CreateTime' }];
    await withAdmin(world, (admin) =>
      admin.createTopics({ topics: [{ topic, numPartitions: 12, configEntries }], waitForLeaders: false }),
    );
    await world.open({ shape: few });
    const line = world.lines.find(({ message }) => message === 'a topic is not set up as the log needs it');
    expect(line).toMatchObject({
      level: 'warn',
      fields: { topic, settings: { 'message.timestamp.type': 'CreateTime' } },
    });
  });

  it('refuses another partitioning than the log was made with, and says which', async () => {
    const world = makeWorld();
    await (await world.open({ shape: few })).close();
    const other = (partitions: number, shards: number) =>
      world.open({ shape: { ...few, partitioning: { partitions, shards } } });
    await expect(other(24, 2)).rejects.toThrow('partitions 12, not 24');
    await expect(other(12, 3)).rejects.toThrow('shards 2, not 3');
  });

  it('makes a log once when processes of different partitionings start at the same time', async () => {
    const world = makeWorld();
    const asked = [12, 6, 4].map((partitions) =>
      world.open({ shape: { ...few, partitioning: { partitions, shards: 2 } } }),
    );
    const settled = await Promise.allSettled(asked);
    const opened = settled.flatMap((of) => (of.status === 'fulfilled' ? [of.value.partitioning.partitions] : []));
    expect(opened).toHaveLength(1);
    for (const { partitions } of (await describeTopics(world, few.topics)).values()) expect(partitions).toBe(opened[0]);
  });

  it('puts groups at position 0 once, when several processes start at the same time', async () => {
    const world = makeWorld();
    const logs = await Promise.all([1, 2, 3].map(() => world.open({ shape: few })));
    for (const log of logs) for (const topic of few.topics) expect(await log.committed(group, topic)).toEqual(zeros);
  });

  it('never moves a position, and gives none on a partition that has events', async () => {
    const world = makeWorld();
    const log = await world.open({ shape: { ...few, groups: [] } });
    await log.append(requested(3, 1));
    expect((await log.committed(group, high))[3]).toBeNull();
    await commit(world, high, 5, '7');
    const again = await world.open({ shape: few });
    const positions = await again.committed(group, high);
    expect(positions[3]).toBeNull();
    expect(positions[5]?.offset).toBe(7);
    expect(positions.filter((of) => of?.offset === 0)).toHaveLength(10);
  });

  it('shuts out a process that looked, fell behind, and would write when others have long gone on', async () => {
    const world = makeWorld();
    await world.open({ shape: { ...few, groups: [] } });
    const { client, admins } = connections(world);
    // Its first look under the fence finds nothing; before it writes, another process starts, works and stops.
    let looks = 0;
    await admins.use(async (admin) => {
      const fetchOffsets: typeof admin.fetchOffsets = async (of) => {
        const found = await admin.fetchOffsets(of);
        if (++looks === 2) {
          await world.open({ shape: few });
          await commit(world, high, 5, '7');
        }
        return found;
      };
      const slow = { ...admin, fetchOffsets };
      const cluster = createLogCluster({ client, topics: few.topics.map(client.names.topic) });
      const deps = { kafka: client.kafka, admin: slow, cluster, names: client.names, logger: silent };
      await expect(ensurePositions(deps, few.groups)).rejects.toThrow();
      cluster.close();
    });
    const log = await world.open({ shape: few });
    expect((await log.committed(group, high))[5]?.offset).toBe(7);
    await admins.close();
  });

  it('gives position 0 on a new topic of a group that is at work', async () => {
    const world = makeWorld();
    const old = await world.open({ shape: { ...few, topics: [high], groups: [{ group, topics: [high] }] } });
    const owned = new Set<number>();
    await old.consume({ group, topics: [high], owned: ({ partition }) => void owned.add(partition), lost() {} });
    await until(() => owned.size === 12, { what: 'the group to be at work' });
    expect(await old.activeMembers(group)).toBe(1);
    const log = await world.open({ shape: few });
    expect(await log.committed(group, bulk)).toEqual(zeros);
    expect(await log.activeMembers('projector-none')).toBe(0);
  });

  it('waits for the brokers and says so, until its signal is aborted', async () => {
    const world = makeWorld({ brokers: [`127.0.0.1:${await freePort()}`] });
    const giveUp = new AbortController();
    const opening = world.open({ signal: giveUp.signal });
    const refused = expect(opening).rejects.toThrow('given up while waiting for Kafka');
    await until(() => world.lines.some(({ message }) => message === 'waiting for Kafka'), { what: 'the line' });
    giveUp.abort();
    await refused;
    worlds.pop();
  });
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

function connections(world: LogWorld) {
  const client = createKafkaClient({ settings: world.settings, logger: silent });
  return { client, admins: createAdmins(client.kafka) };
}

async function withAdmin<T>(world: LogWorld, work: (admin: ReturnType<LogWorld['kafka']['admin']>) => Promise<T>) {
  const admin = world.kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** As a group without members. */
async function commit(world: LogWorld, topic: Topic, partition: number, offset: string): Promise<void> {
  const producer = world.kafka.producer({ transactionalId: `${world.settings.prefix}test`, maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  const topics = [{ topic: world.settings.prefix + topic, partitions: [{ partition, offset }] }];
  await transaction.sendOffsets({ consumerGroupId: world.settings.prefix + group, topics });
  await transaction.commit();
  await producer.disconnect();
  await withAdmin(world, (admin) =>
    until(
      async () => {
        const of = { groupId: world.settings.prefix + group, topics: [world.settings.prefix + topic] };
        const [found] = await admin.fetchOffsets(of);
        return found?.partitions.some((at) => at.partition === partition && at.offset === offset);
      },
      { what: 'the commit to be seen', everyMs: 50 },
    ),
  );
}

async function describeTopics(world: LogWorld, topics: readonly Topic[]) {
  const names = topics.map((topic) => world.settings.prefix + topic);
  return withAdmin(world, async (admin) => {
    const metadata = await admin.fetchTopicMetadata({ topics: names });
    const resources = names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
    const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
    return new Map(
      metadata.topics.map(({ name, partitions }) => {
        const entries = configs.resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
        const settings = Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
        return [name, { partitions: partitions.length, settings }];
      }),
    );
  });
}
