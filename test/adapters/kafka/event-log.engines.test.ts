// The Kafka log: the contract, on a real broker and a real registry.

import { afterAll, jest } from '@jest/globals';

import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import { eventLogContract } from '../../contracts/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { makeLogWorld } from './log-world.ts';

jest.setTimeout(60_000);

/** Removed while the next test runs: the topics of one take the broker a second. */
const removals: Promise<void>[] = [];
afterAll(() => Promise.all(removals));

eventLogContract('Kafka', {
  async open(group, topics) {
    const world = makeLogWorld();
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
        const producer = world.kafka.producer({ createPartitioner: () => () => partition });
        await producer.connect();
        // A schema that is known, and a datum that isn't of it.
        const schemaId = await schemaIdAt(world, world.settings.prefix + topic);
        const value = Buffer.concat([Buffer.from([0]), schemaId, Buffer.from([0xff, 0xff])]);
        const [answer] = await producer.send({
          topic: world.settings.prefix + topic,
          messages: [{ value, partition }],
        });
        await producer.disconnect();
        return { topic, partition, offset: Number(answer?.baseOffset) };
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
        removals.push(world.remove());
      },
    };
  },
});

async function schemaIdAt(world: ReturnType<typeof makeLogWorld>, topic: string): Promise<Buffer> {
  const { json = '' } =
    createCodec()
      .newestSchemas()
      .find(({ type }) => type === 'NotificationRequested') ?? {};
  const response = await fetch(`${world.registryUrl}/subjects/${topic}-herald.NotificationRequested`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema: json }),
  });
  const { id } = (await response.json()) as { id: number };
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(id);
  return bytes;
}
