// The Kafka log: the contract, on a real broker and a real registry.

import { afterAll, jest } from '@jest/globals';

import type { Topic } from '../../../src/domain/topics.ts';
import { allTopics, defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import { eventLogContract } from '../../contracts/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { Position } from '../../../src/ports/event-log.ts';
import { firstWritten } from '../../support/former-schemas.ts';
import { makeLogWorld } from './log-world.ts';

jest.setTimeout(60_000);

/**
 * With schemas of its own each world would take twice as long: a few prefixes take turns. A broker needs some seconds until it has forgotten a topic for good;
 * the topics of one test are removed while the next ones run.
 */
const places = Array.from({ length: 4 }, () => ({
  prefix: makeLogWorld().settings.prefix,
  emptied: Promise.resolve(),
}));
afterAll(async () => {
  for (const { prefix, emptied } of places) {
    await emptied;
    await makeLogWorld({ prefix }).remove();
  }
});

eventLogContract('Kafka', {
  async open(group, topics) {
    const [place] = places;
    if (place === undefined) throw new Error('there is a place');
    places.push(...places.splice(0, 1));
    await place.emptied;
    const world = makeLogWorld({ prefix: place.prefix });
    const shape = { partitioning: defaultPartitioning, topics: allTopics, groups: [{ group, topics }] };
    const log = await world.open({ shape });
    let latest = log;
    return {
      log,
      async reopen() {
        await latest.close();
        latest = await world.open({ shape });
        return latest;
      },
      async plantUndecodable(topic, partition) {
        // A schema that is known, and a datum that isn't of it.
        const { json = '' } =
          createCodec()
            .newestSchemas()
            .find(({ type }) => type === 'NotificationRequested') ?? {};
        const schemaId = await registeredAt(world, topic, json);
        return plant(world, { topic, partition, schemaId, bytes: Buffer.from([0xff, 0xff]) });
      },
      async plantFormer(event) {
        const topic = workTopic('EMAIL', 'HIGH');
        const { json, bytes } = firstWritten(event);
        // The former version registered it before ours, or beside it.
        const schemaId = await registeredAt(world, topic, json, 'versions');
        return plant(world, { topic, partition: event.partition, schemaId, bytes });
      },
      async deleteBelow({ topic, partition, offset }) {
        const admin = world.kafka.admin();
        await admin.connect();
        const name = world.settings.prefix + topic;
        // Only so does the client learn who leads the topic.
        await admin.fetchTopicOffsets(name);
        await admin.deleteTopicRecords({ topic: name, partitions: [{ partition, offset: String(offset) }] });
        await admin.disconnect();
      },
      said: () => world.lines.filter(({ level }) => level === 'error').map(({ message }) => message),
      async close() {
        await latest.close();
        place.emptied = world.empty();
      },
    };
  },
});

type World = ReturnType<typeof makeLogWorld>;

interface Planted {
  readonly topic: Topic;
  readonly partition: number;
  readonly schemaId: number;
  readonly bytes: Buffer;
}

async function plant(world: World, { topic, partition, schemaId, bytes }: Planted): Promise<Position> {
  const producer = world.kafka.producer({ createPartitioner: () => () => partition });
  await producer.connect();
  const header = Buffer.alloc(5);
  header.writeInt32BE(schemaId, 1);
  const messages = [{ value: Buffer.concat([header, bytes]), partition }];
  const [answer] = await producer.send({ topic: world.settings.prefix + topic, messages });
  await producer.disconnect();
  return { topic, partition, offset: Number(answer?.baseOffset) };
}

/** The id that the registry knows the schema by, or gives it. */
async function registeredAt(world: World, topic: Topic, schema: string, path: '' | 'versions' = ''): Promise<number> {
  const subject = `${world.settings.prefix}${topic}-herald.NotificationRequested`;
  const response = await fetch(`${world.registryUrl}/subjects/${subject}/${path}`.replace(/\/$/, ''), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema }),
  });
  const { id } = (await response.json()) as { id: number };
  return id;
}
