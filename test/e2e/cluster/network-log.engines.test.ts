// A network between two processes and Kafka and its registry that delays, drops and half-opens, under load: a 503 is the worst answer, and what was accepted
// is delivered soon after the network is well, and counted exactly. E2E_NETWORK_MS=30000 is the long run.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import { engines } from '../../support/engines.ts';
import type { FaultyProxy } from '../../support/faulty-proxy.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { readinessOf } from '../../support/nodes.ts';
import { createPoster } from '../../support/posting.ts';
import type { ProxiedKafka } from '../../support/proxied-kafka.ts';
import { startProxiedKafka } from '../../support/proxied-kafka.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

/** How long each fault lasts. */
const faultMs = Number(process.env['E2E_NETWORK_MS'] ?? '8000');
const perSecond = 20;
const deliveredWithinMs = 60_000;
const poster = createPoster();
const posts: Promise<void>[] = [];
const statuses = new Map<number | null, number>();
/** When each accepted one was posted, and the receiver's first sight of each, by id. */
const accepted = new Map<string, number>();
const arrivedAt = new Map<string, number>();
const failedOnce = new Set<string>();
let arrivals = 0;
let kafka: ProxiedKafka;
let registry: FaultyProxy;
let dataDir: DataDir;
let world: DeliveryWorld;
let services: readonly Herald[];
let steady: NodeJS.Timeout;

beforeAll(async () => {
  kafka = await startProxiedKafka();
  const registryUrl = new URL(engines().registryUrl);
  registry = await startFaultyProxy({ target: registryUrl.host });
  dataDir = await makeDataDir();
  world = await startDeliveryWorld(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    if (path.startsWith('/fails-once/') && !failedOnce.has(id)) {
      failedOnce.add(id);
      response.writeHead(500).end();
      return;
    }
    arrivals += 1;
    if (!arrivedAt.has(id)) arrivedAt.set(id, Date.now());
    response.end('ok');
  });
  const environment = {
    ...world.environment,
    KAFKA_BROKERS: kafka.proxy.address,
    SCHEMA_REGISTRY_URL: `http://${registry.address}${registryUrl.pathname}`,
    RETRY_DELAYS: '1s,2s,5s',
  };
  services = [await startHerald(dataDir, environment), await startHerald(dataDir, environment)];
}, 180_000);

afterAll(async () => {
  clearInterval(steady);
  await poster.close();
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
  await registry.close();
  await kafka.stop();
}, 120_000);

it('loses none of its 202s through any fault, and all is delivered within 60 s of the last one and counted exactly', async () => {
  const faults: readonly [string, (of: FaultyProxy) => void][] = [
    ['delays 200 ms', (of) => of.delay(200)],
    ['drops all connections twice a second', (of) => dropFor(of)],
    ['is half-open', (of) => of.halfOpen()],
  ];
  steady = setInterval(() => posts.push(post()), 1000 / perSecond);
  const told: string[] = [];
  let mendedAt = 0;
  for (const [fault, begin] of faults) {
    await goesOn(`before the network ${fault}`);
    const begunAt = Date.now();
    for (const proxy of [kafka.proxy, registry]) begin(proxy);
    await until(() => Date.now() - begunAt >= faultMs, { timeoutMs: 2 * faultMs, what: 'the time of the fault' });
    for (const proxy of [kafka.proxy, registry]) {
      proxy.delay(0);
      proxy.mend();
    }
    mendedAt = Date.now();
    const before = arrivals - arrivedAt.size;
    await goesOn(`after the network ${fault}`);
    told.push(`${fault}: goes on ${Date.now() - mendedAt} ms after it, ${before} sent again so far`);
  }
  clearInterval(steady);
  await Promise.all(posts);
  expect([...statuses.keys()].filter((status) => status !== 202 && status !== 503)).toEqual([]);
  expect(accepted.size).toBe(statuses.get(202));
  await until(() => [...accepted.keys()].every((id) => arrivedAt.has(id)), {
    timeoutMs: deliveredWithinMs,
    what: 'every accepted one at the receiver',
  });
  for (const { operationsUrl } of services)
    await until(async () => (await readinessOf(operationsUrl))?.status === 'ready', {
      timeoutMs: 30_000,
      what: 'every process to be ready',
    });
  // What was answered 503 may be in the log all the same: it is delivered and counted then, as everything else.
  const reader = oneOf(services, 0);
  await until(
    async () => {
      const { total, statusCounts } = await statisticsOf(reader);
      return total === arrivedAt.size && statusCounts['DELIVERED'] === total;
    },
    { timeoutMs: 60_000, what: 'the statistics of all that arrived' },
  );
  const records = await allRecords(reader);
  expect(new Set(records.map(({ id }) => id))).toEqual(new Set(arrivedAt.keys()));
  expect(withoutZeros((await statisticsOf(reader)).statusCounts)).toEqual(groupedBy(records, 'status'));
  const late = [...accepted].map(([id, postedAt]) => (arrivedAt.get(id) ?? Infinity) - Math.max(postedAt, mendedAt));
  console.log(
    `${told.join('; ')}; answers: ${[...statuses].map(([status, n]) => `${n} x ${status}`).join(', ')}; ` +
      `${arrivals - arrivedAt.size} sent again; after the last fault at most ${Math.max(...late)} ms`,
  );
}, 600_000);

async function post(): Promise<void> {
  const sent = posts.length;
  const path = sent % 10 === 0 ? 'fails-once' : 'hook';
  const postedAt = Date.now();
  const { status, id } = await poster.post(oneOf(services, sent % 2), {
    channel: 'WEBHOOK',
    recipient: `${world.webhooks.url}/${path}/${sent}`,
    body: 'hi',
  });
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (id !== null) accepted.set(id, postedAt);
}

/** When twenty that are posted from now on have arrived. */
async function goesOn(when: string): Promise<void> {
  const since = Date.now();
  await until(
    () => {
      const arrived = [...accepted].filter(([id, postedAt]) => postedAt > since && arrivedAt.has(id));
      return arrived.length >= 20;
    },
    { timeoutMs: deliveredWithinMs, everyMs: 50, what: `deliveries ${when}` },
  );
}

function dropFor(of: FaultyProxy): void {
  const dropping = setInterval(of.drop, 500);
  setTimeout(() => clearInterval(dropping), faultMs);
}

function oneOf(all: readonly Herald[], i: number): Herald {
  const service = all[i];
  if (service === undefined) throw new Error('no such process');
  return service;
}
