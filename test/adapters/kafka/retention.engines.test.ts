// Events that the brokers have deleted (retention): whoever wanted them next goes on from where the log begins, and says so.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { KafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import type { Claim, LogEntry } from '../../../src/ports/event-log.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { type LogWorld, makeLogWorld } from './log-world.ts';

const topic = workTopic('EMAIL', 'HIGH');
const partition = 2;
const deleted = 6;
let world: LogWorld;
let log: KafkaEventLog;

beforeAll(async () => {
  world = makeLogWorld();
  log = await world.open();
  for (let n = 0; n < 10; n++) await log.append(requested(partition, n));
  const admin = world.kafka.admin();
  await admin.connect();
  const name = world.settings.prefix + topic;
  // kafkajs looks for its leaders only here.
  await admin.fetchTopicOffsets(name);
  await admin.deleteTopicRecords({ topic: name, partitions: [{ partition, offset: String(deleted) }] });
  await admin.disconnect();
}, 60_000);

afterAll(() => world.remove(), 60_000);

describe('deleted events', () => {
  it('are passed over by a reader of a group, in a line that names the place', async () => {
    const claims = new Map<number, Claim>();
    await log.consume({
      group: 'projector-inbox',
      topics: [topic],
      owned: (claim) => void claims.set(claim.partition, claim),
      lost: () => {},
    });
    const claim = await until(() => claims.get(partition), { timeoutMs: 30_000, what: 'the number' });
    const reader = claim.read(new Map([[topic, 3]]));
    const entries: LogEntry[] = [];
    while (entries.length < 10 - deleted) entries.push(...(await reader.take({ eventsMax: 100, bytesMax: 1_000_000 })));
    expect(entries.map(({ offset }) => offset)).toEqual([6, 7, 8, 9]);
    expect(await reader.atEnd()).toBe(true);
    expect(world.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringMatching(/deleted/), fields: { partition, offset: 3, start: deleted } },
    ]);
  });

  it('are no part of a range', async () => {
    const offsets: number[] = [];
    for await (const entry of log.read({ topic, partition, from: 0, to: 8 })) offsets.push(entry.offset);
    expect(offsets).toEqual([6, 7]);
    for await (const entry of log.read({ topic, partition, from: 0, to: 5 })) offsets.push(entry.offset);
    expect(offsets).toEqual([6, 7]);
  });
});
