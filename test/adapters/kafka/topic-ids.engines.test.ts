// A topic that was deleted and made again under its name isn't the one that the log was made of, however far it has grown.

import { afterEach, expect, it, jest } from '@jest/globals';

import type { KafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { defaultPartitioning, workTopic } from '../../../src/domain/topics.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { type LogWorld, makeLogWorld } from './log-world.ts';

jest.setTimeout(90_000);

const high = workTopic('EMAIL', 'HIGH');
const bulk = workTopic('EMAIL', 'BULK');
const shape = { partitioning: defaultPartitioning, topics: [high, bulk], groups: [] };

let world: LogWorld;
afterEach(() => world.remove());

/** By somebody else, with more in it than there was. */
async function makeAgain(name: string, records: number): Promise<void> {
  const admin = world.kafka.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [name] });
  await until(async () => !(await admin.listTopics()).includes(name), { what: 'the topic to be gone' });
  // A busy broker may have made it and not said so in time.
  const make = () => admin.createTopics({ topics: [{ topic: name, numPartitions: 12 }] }).catch(() => false);
  const isThere = async () => (await make()) || (await admin.listTopics()).includes(name);
  await until(isThere, { what: 'the topic to be made', everyMs: 200 });
  await admin.disconnect();
  const producer = world.kafka.producer();
  await producer.connect();
  const messages = Array.from({ length: records }, () => ({ partition: 3, value: 'whatever' }));
  await producer.send({ topic: name, messages });
  await producer.disconnect();
}

const endOf = async (log: KafkaEventLog) => (await log.ends(high))[3] ?? 0;

it('is refused by name though its end is beyond that of before, and by a decision it is the log’s from then on', async () => {
  world = makeLogWorld();
  const log = await world.open({ shape });
  expect((await log.append(requested(3, 1))).kind).toBe('durable');
  const before = await endOf(log);
  await log.close();
  await (await world.open({ shape })).close();
  const name = world.settings.prefix + high;
  await makeAgain(name, before + 5);
  await expect(world.open({ shape })).rejects.toThrow(`The topic ${name} was deleted and made again`);
  await expect(world.open({ shape })).rejects.toThrow('herald adopt');

  const adopting = await world.open({ shape, topicIds: 'adopted' });
  await adopting.adoptTopics();
  await adopting.close();
  const again = await world.open({ shape });
  expect(await endOf(again)).toBe(before + 5);
});

it('one that is there for the first time is the log’s', async () => {
  world = makeLogWorld();
  await (await world.open({ shape: { ...shape, topics: [high] } })).close();
  await (await world.open({ shape })).close();
  const name = world.settings.prefix + bulk;
  await makeAgain(name, 1);
  await expect(world.open({ shape })).rejects.toThrow(`The topic ${name} was deleted and made again`);
});

it('processes that start at the same time agree on the topics', async () => {
  world = makeLogWorld();
  await Promise.all([1, 2, 3].map(() => world.open({ shape })));
  await world.open({ shape });
});
