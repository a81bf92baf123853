// Three brokers under a steady load by two processes of every role, killed one or two at a time and frozen: nothing that was accepted is lost, and all of it
// is delivered soon after the last of them is back. HERALD_TEST_FAULTS=many is the long run: ten kills, two of them of two brokers at once, and 40 s frozen.

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
import { readinessOf } from '../../support/nodes.ts';
import { createPoster } from '../../support/posting.ts';
import { until } from '../../support/until.ts';

type Fault =
  | { readonly kind: 'kill'; readonly brokers: readonly number[] }
  | { readonly kind: 'freeze'; readonly broker: number; readonly forMs: number };

const killed = (...brokers: readonly number[]): Fault => ({ kind: 'kill', brokers });
const frozen = (broker: number, forMs: number): Fault => ({ kind: 'freeze', broker, forMs });
const few = [killed(1), killed(2, 3), frozen(1, 10_000)];
const manyKilled = [
  killed(1),
  killed(2),
  killed(3),
  killed(1, 2),
  killed(3),
  killed(1),
  killed(2, 3),
  killed(2),
  killed(1),
];
const many = [...manyKilled, frozen(2, 40_000), killed(3)];
const faults = process.env['HERALD_TEST_FAULTS'] === 'many' ? many : few;
const perSecond = 50;
/** Two brokers of three are needed for everything: their successors are elected in 4 s, and clients find them within 10. */
const goesOnWithinMs = 30_000;
/** How long two of three are away: nothing is accepted meanwhile. */
const awayMs = 5_000;
const deliveredWithinMs = 60_000;
const poster = createPoster();
const statuses = new Map<number | null, number>();
/** Their notifications spread over all partition numbers, so that each broker leads some. */
const tenants = 12;
/** Of a tenant and a priority at one of the two processes. */
const kinds = Array.from({ length: 2 * tenants * priorities.length }, (_, kind) => kind);
/** When each accepted one was posted, and its kind; when each first arrived; by id. */
const accepted = new Map<string, { readonly postedAt: number; readonly kind: number }>();
const arrivedAt = new Map<string, number>();
let arrivals = 0;
let kafka: OwnKafka;
let dataDir: DataDir;
let world: DeliveryWorld;
let services: readonly Herald[];
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
  services = [await startHerald(dataDir, environment), await startHerald(dataDir, environment)];
  shops = await Promise.all(Array.from({ length: tenants }, (_, i) => provision(`tenant-${i}`)));
}, 180_000);

afterAll(async () => {
  await poster.close();
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
  await kafka.stop();
}, 120_000);

it(
  `none of the 202s is lost, a 503 is the worst answer, and all is delivered within 60 s of the last return, over ${faults.length} faults`,
  async () => {
    const load = startLoad();
    const gaps: number[] = [];
    let returnedAt = 0;
    try {
      for (const fault of faults) {
        await goesOn(`before ${JSON.stringify(fault)}`);
        gaps.push(await suffer(fault));
        returnedAt = Date.now();
      }
      await goesOn('after the last return');
    } finally {
      await load.stop();
    }
    expect([...statuses.keys()].filter((status) => status !== 202 && status !== 503)).toEqual([]);
    expect(accepted.size).toBe(statuses.get(202));
    expect(Math.max(...gaps)).toBeLessThan(goesOnWithinMs);

    await until(() => [...accepted.keys()].every((id) => arrivedAt.has(id)), {
      timeoutMs: deliveredWithinMs,
      what: 'every accepted one at the receiver',
    });
    const late = [...accepted].map(
      ([id, { postedAt }]) => (arrivedAt.get(id) ?? Infinity) - Math.max(postedAt, returnedAt),
    );
    expect(Math.max(...late)).toBeLessThan(deliveredWithinMs);
    for (const { operationsUrl } of services)
      await until(async () => (await readinessOf(operationsUrl))?.status === 'ready', {
        what: 'every process to be ready',
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
        `from POST to arrival at most ${Math.max(...waits)} ms, after the last return at most ${Math.max(...late)} ms`,
    );
  },
  240_000 + faults.length * 60_000,
);

/** Until sending went on everywhere, in ms: after one was killed or frozen while it is away, after two were killed once they are back. */
async function suffer(fault: Fault): Promise<number> {
  const what = `after ${JSON.stringify(fault)}`;
  let since = Date.now();
  if (fault.kind === 'freeze') {
    await kafka.pause(fault.broker);
    const tookMs = (await goesOn(what)) - since;
    await until(() => Date.now() - since >= fault.forMs, { timeoutMs: fault.forMs, what: 'the time of the freeze' });
    await kafka.resume(fault.broker);
    return tookMs;
  }
  const { brokers } = fault;
  await Promise.all(brokers.map((broker) => kafka.kill(broker)));
  if (brokers.length === 1) {
    const tookMs = (await goesOn(what)) - since;
    await kafka.start(brokers[0]);
    return tookMs;
  }
  await until(() => Date.now() - since >= awayMs, { what: 'the time without brokers' });
  for (const broker of brokers) await kafka.start(broker);
  since = Date.now();
  return (await goesOn(what)) - since;
}

/** Posts of all kinds in turn, to both processes. */
function startLoad(): { stop(): Promise<void> } {
  const posts: Promise<void>[] = [];
  let sent = 0;
  const post = async (): Promise<void> => {
    const kind = sent++ % kinds.length;
    const tenant = (kind >> 1) % tenants;
    const postedAt = Date.now();
    const { status, id } = await poster.post(
      { url: services[kind % 2]?.url ?? '', apiKey: shops[tenant]?.apiKey ?? '' },
      {
        channel: 'WEBHOOK',
        recipient: `${world.webhooks.url}/${sent}`,
        priority: priorities[Math.floor((kind >> 1) / tenants)],
        body: 'hi',
      },
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (id !== null) accepted.set(id, { postedAt, kind });
  };
  const steady = setInterval(() => posts.push(post()), 1000 / perSecond);
  return {
    async stop() {
      clearInterval(steady);
      await Promise.all(posts);
    },
  };
}

/** When one of every kind had arrived that was posted from now on. */
async function goesOn(what: string): Promise<number> {
  const since = Date.now();
  await until(
    () => {
      const arrived = new Set<number>();
      for (const [id, { postedAt, kind }] of accepted) if (postedAt > since && arrivedAt.has(id)) arrived.add(kind);
      return arrived.size === kinds.length;
    },
    { timeoutMs: 2 * goesOnWithinMs, everyMs: 50, what: `deliveries of every kind ${what}` },
  );
  return Date.now();
}

function first(): Herald {
  const [service] = services;
  if (service === undefined) throw new Error('no process was started');
  return service;
}

async function provision(subject: string): Promise<{ bearer: string; apiKey: string }> {
  const bearer = await token(dataDir, {}, ['--sub', subject]);
  const headers = { authorization: `Bearer ${bearer}` };
  const { status, body } = await first().call('POST', '/api/v1/auth/provision-tenant', { headers });
  const { apiKey } = (body['tenant'] ?? {}) as { apiKey?: string };
  if (apiKey === undefined) throw new Error(`no tenant, but ${status}: ${JSON.stringify(body)}`);
  return { bearer, apiKey };
}

/** Over all tenants. */
async function counted(): Promise<{ total: number; delivered: number }> {
  const sums = { total: 0, delivered: 0 };
  for (const { bearer } of shops) {
    const headers = { authorization: `Bearer ${bearer}` };
    const { body } = await first().call('GET', '/api/v1/dashboard/stats?range=all', { headers });
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
