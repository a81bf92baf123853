// Three brokers, one after another killed and brought back under a steady load: nothing that was accepted is lost.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { openKafkaEventLog } from '../../../src/adapters/kafka/event-log.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { createCodec } from '../../../src/codec/index.ts';
import { priorities } from '../../../src/domain/events.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import { eventLogShape } from '../../../src/main/event-log-shape.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { OwnKafka } from '../../support/engine-control.ts';
import { startOwnKafka } from '../../support/engine-control.ts';
import { engines } from '../../support/engines.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald, token } from '../../support/herald.ts';
import { createPoster } from '../../support/posting.ts';
import { until } from '../../support/until.ts';

const perSecond = 50;
/** Accepting and delivering go on for at least so long; the kills take what they take. */
const steadyMs = 60_000;
const dispatchGoesOnWithinMs = 30_000;
const poster = createPoster();
const statuses = new Map<number | null, number>();
/** Their notifications spread over all partition numbers, so that each broker leads some. */
const tenants = 12;
const kinds = Array.from({ length: tenants * priorities.length }, (_, kind) => kind);
/** When each accepted one was posted, and its tenant and priority; when each first arrived; by id. */
const accepted = new Map<string, { readonly postedAt: number; readonly kind: number }>();
const arrivedAt = new Map<string, number>();
let arrivals = 0;
let kafka: OwnKafka;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let shops: { readonly bearer: string; readonly apiKey: string }[];

beforeAll(async () => {
  kafka = await startOwnKafka({ brokers: 3 });
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) => {
    const id = String(request.headers['webhook-id']);
    arrivals += 1;
    if (!arrivedAt.has(id)) arrivedAt.set(id, Date.now());
    response.end('ok');
  });
  const environment = { ...world.environment, KAFKA_BROKERS: kafka.address, KAFKA_REPLICATION: '3' };
  service = await startHerald(dataDir, environment);
  shops = await Promise.all(Array.from({ length: tenants }, (_, i) => provision(`tenant-${i}`)));
}, 180_000);

afterAll(async () => {
  await poster.close();
  await service.stop();
  await world.close();
  await dataDir.remove();
  await kafka.stop();
}, 120_000);

it('none of the 202s is lost, a 503 is the worst answer, and sending goes on within 30 s of each kill', async () => {
  const posts: Promise<void>[] = [];
  let sent = 0;
  const post = async (): Promise<void> => {
    const kind = sent++ % kinds.length;
    const postedAt = Date.now();
    const { status, id } = await poster.post(
      { url: service.url, apiKey: shops[kind % tenants]?.apiKey ?? '' },
      {
        channel: 'WEBHOOK',
        recipient: `${world.webhooks.url}/${sent}`,
        priority: priorities[Math.floor(kind / tenants)],
        body: 'hi',
      },
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (id !== null) accepted.set(id, { postedAt, kind });
  };
  const startedAt = Date.now();
  const steady = setInterval(() => posts.push(post()), 1000 / perSecond);
  const gaps: number[] = [];
  try {
    for (const broker of [1, 2, 3]) {
      await goesOn('before a kill');
      const killedAt = Date.now();
      await kafka.kill(broker);
      gaps.push((await goesOn(`after the kill of broker ${broker}`)) - killedAt);
      await kafka.start(broker);
    }
    await until(() => Date.now() - startedAt >= steadyMs, { timeoutMs: steadyMs, what: 'the minute to be over' });
  } finally {
    clearInterval(steady);
  }
  await Promise.all(posts);
  expect([...statuses.keys()].filter((status) => status !== 202 && status !== 503)).toEqual([]);
  expect(accepted.size).toBe(statuses.get(202));
  expect(Math.max(...gaps)).toBeLessThan(dispatchGoesOnWithinMs);

  await until(() => [...accepted.keys()].every((id) => arrivedAt.has(id)), {
    timeoutMs: 60_000,
    what: 'every accepted one at the receiver',
  });
  const logged = await loggedIds();
  expect([...accepted.keys()].filter((id) => !logged.has(id))).toEqual([]);
  await until(
    async () => {
      const { total, delivered } = await counted();
      return total === logged.size && delivered === total;
    },
    { timeoutMs: 60_000, what: 'the records of all that is in the log' },
  );
  const waits = [...accepted].map(([id, { postedAt }]) => (arrivedAt.get(id) ?? Infinity) - postedAt);
  const told = [...statuses].map(([status, n]) => `${n} x ${status}`).join(', ');
  console.log(
    `answers: ${told}; ${logged.size} in the log; ${arrivals - arrivedAt.size} sent again; sending went on everywhere after ${gaps.join(', ')} ms; ` +
      `from POST to arrival at most ${Math.max(...waits)} ms`,
  );
}, 300_000);

/** When, of every tenant and priority, one had arrived that was posted from now on. */
async function goesOn(what: string): Promise<number> {
  const since = Date.now();
  await until(
    () => {
      const arrived = new Set<number>();
      for (const [id, { postedAt, kind }] of accepted) if (postedAt > since && arrivedAt.has(id)) arrived.add(kind);
      return arrived.size === kinds.length;
    },
    { timeoutMs: 2 * dispatchGoesOnWithinMs, everyMs: 50, what: `deliveries of every partition number ${what}` },
  );
  return Date.now();
}

async function provision(subject: string): Promise<{ bearer: string; apiKey: string }> {
  const bearer = await token(dataDir, {}, ['--sub', subject]);
  const headers = { authorization: `Bearer ${bearer}` };
  const { body } = await service.call('POST', '/api/v1/auth/provision-tenant', { headers });
  return { bearer, apiKey: (body['tenant'] as { apiKey: string }).apiKey };
}

/** Over all tenants. */
async function counted(): Promise<{ total: number; delivered: number }> {
  const sums = { total: 0, delivered: 0 };
  for (const { bearer } of shops) {
    const headers = { authorization: `Bearer ${bearer}` };
    const { body } = await service.call('GET', '/api/v1/dashboard/stats?range=all', { headers });
    sums.total += Number(body['total']);
    sums.delivered += Number((body['statusCounts'] as Record<string, number>)['DELIVERED']);
  }
  return sums;
}

async function loggedIds(): Promise<Set<string>> {
  const log = await openKafkaEventLog({
    settings: {
      brokers: kafka.brokers,
      prefix: dataDir.environment['KAFKA_PREFIX'] ?? '',
      clientId: 'test',
      tls: null,
      sasl: null,
      replication: 3,
    },
    registryUrl: engines().registryUrl,
    shape: eventLogShape,
    codec: createCodec(),
    clock: createClock(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const ids = new Set<string>();
  for (const priority of priorities) {
    const topic = workTopic('WEBHOOK', priority);
    for (let partition = 0; partition < log.partitioning.partitions; partition++) {
      for await (const { event } of log.read({ topic, partition, from: 0, to: Infinity })) {
        if (event?.type === 'NotificationRequested') ids.add(event.notificationId);
      }
    }
  }
  await log.close();
  return ids;
}
