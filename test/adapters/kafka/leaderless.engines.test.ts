// One topic of a log on three brokers has one replica of each partition, and the broker of one is killed: whatever isn't in that partition goes on, for as long
// as it lasts, also where leaders move.

import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';

import type { KafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import type { DomainEvent } from '../../../src/domain/events.ts';
import { deadLettersTopic, type Topic, workTopic } from '../../../src/domain/topics.ts';
import type { Claim, Position } from '../../../src/ports/event-log.ts';
import { type OwnEngine, type OwnKafka, startOwnKafka, startOwnRegistry } from '../../support/engine-control.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import { clock, type LogWorld, makeLogWorld } from './log-world.ts';

const [topic, replicated] = [workTopic('EMAIL', 'HIGH'), workTopic('EMAIL', 'BULK')];
const [victim, without, partitions] = [2, 5, 12];
const numbers = Array.from({ length: partitions }, (_, n) => n);
const others = numbers.filter((n) => n !== without);
const placesOf = (of: Topic, among = numbers) => among.map((partition) => `${of} ${partition}`);
const [alone, rest] = [placesOf(topic, [without]), [...placesOf(topic, others), ...placesOf(replicated)]];
/** Past the 30 s after which a leader that says nothing has all connections made anew. */
const lastsMs = 45_000;
const goesOnWithinMs = 60_000;

jest.setTimeout(300_000);

let kafka: OwnKafka;
let registry: OwnEngine;
let world: LogWorld;
let log: KafkaEventLog;
let load: NodeJS.Timeout;
/** How many, by place. */
const durable = new Map<string, number>();
const consumed = new Map<string, number>();
const reasons = new Set<string>();

beforeAll(async () => {
  [kafka, registry] = await Promise.all([startOwnKafka({ brokers: 3 }), startOwnRegistry({ inMemory: true })]);
  world = makeLogWorld({ brokers: kafka.brokers, registryUrl: registry.address, replication: 3 });
  await makeTopic();
  log = await world.open();
  await log.consume({
    group: 'followers',
    topics: [topic, replicated],
    owned: (claim) => void follow(claim),
    lost() {},
  });
  let sent = 0;
  load = setInterval(() => {
    for (const priority of ['HIGH', 'BULK'] as const)
      for (const partition of numbers) void append(requested(partition, sent++, priority));
  }, 500);
}, 240_000);

afterAll(async () => {
  clearInterval(load);
  await Promise.all([kafka.stop(), registry.stop()]);
}, 60_000);

it('appends, reads, starts and is ready, says which partition it is, and takes that too once its broker is back', async () => {
  await goesOn([...alone, ...rest]);
  await kafka.kill(victim);
  await goesOn(rest);
  const since = performance.now();
  await until(() => performance.now() - since > lastsMs, { timeoutMs: 2 * lastsMs, what: 'it to last' });
  await goesOn(rest);
  expect(await log.ready()).toBe(true);

  const place = `${world.settings.prefix}${topic}, partition ${without}`;
  expect([...reasons].at(-1)).toBe(`no broker leads ${place}, now`);
  // Whoever asks first since then asks the one that led.
  await until(() => log.ends(deadLettersTopic).catch(() => false), { what: 'the ends of another topic' });
  expect(Object.keys(await log.ends(topic, others)).map(Number)).toEqual(others);
  await expect(log.ends(topic)).rejects.toThrow(place);
  expect(await log.offsetAt(topic, 0, 0)).toBe(0);

  const second = await world.open();
  expect((await second.append(requested(0, 1_000_000))).kind).toBe('durable');
  const told = world.lines.filter(({ message }) => message === 'no broker leads partitions of the log');
  const partitionsTold = [`${world.settings.prefix}${topic} ${without}`];
  expect(told.at(-1)?.fields).toEqual({ partitions: partitionsTold, count: 1 });
  await second.close();

  await kafka.start(victim);
  await goesOn([...alone, ...rest]);
  await log.close();
});

/** As Herald makes it, but for its replicas. */
async function makeTopic(): Promise<void> {
  const admin = world.kafka.admin();
  await admin.connect();
  const replicaAssignment = Array.from({ length: partitions }, (_, partition) => ({
    partition,
    replicas: [partition === without ? victim : partition % 2 === 0 ? 1 : 3],
  }));
  const configEntries = [{ name: 'min.insync.replicas', value: '1' }];
  const name = world.settings.prefix + topic;
  await admin.createTopics({ topics: [{ topic: name, replicaAssignment, configEntries }], waitForLeaders: false });
  await admin.disconnect();
}

async function append(event: DomainEvent): Promise<void> {
  const result = await log.append(event);
  if (result.kind === 'durable') count(durable, result.position);
  else reasons.add(result.reason);
}

function count(counts: Map<string, number>, { topic: of, partition }: Omit<Position, 'offset'>): void {
  const place = `${of} ${partition}`;
  counts.set(place, (counts.get(place) ?? 0) + 1);
}

async function follow(claim: Claim): Promise<void> {
  const begin = new Map([topic, replicated].map((of) => [of, 0] as const));
  const reader = claim.read(begin);
  while (!claim.signal.aborted) {
    try {
      for (const entry of await reader.take({ eventsMax: 500, bytesMax: 1024 * 1024 })) count(consumed, entry);
    } catch {
      await clock.sleep(200, claim.signal);
    }
  }
}

/** Each of them is appended to, and what is appended is read. */
async function goesOn(places: readonly string[]): Promise<void> {
  const before = [new Map(durable), new Map(consumed)];
  const more = (place: string) =>
    [durable, consumed].every((counts, i) => (counts.get(place) ?? 0) > (before[i]?.get(place) ?? 0) + 5);
  await until(() => places.every(more), { timeoutMs: goesOnWithinMs, what: 'every partition to go on' });
}
