// A network between the service and MongoDB and Redis that delays, drops and half-opens, under load: queries answer or say 503, nothing is missing after.

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
import type { Posted } from '../../support/posting.ts';
import { createPoster } from '../../support/posting.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

/** How long each fault lasts. */
const faultMs = Number(process.env['E2E_NETWORK_MS'] ?? '4000');
const perSecond = 20;
/** 6 s of reading at most, after 2 s of waiting for the tenant's own writes; the rest is for a busy machine. */
const queryMaxMs = 15_000;
const poster = createPoster();
const posted: Posted[] = [];
const posts: Promise<void>[] = [];
let mongo: FaultyProxy;
let redis: FaultyProxy;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let steady: NodeJS.Timeout;

beforeAll(async () => {
  const { mongoUrl, redisUrl } = engines();
  mongo = await startFaultyProxy({ target: new URL(mongoUrl).host });
  redis = await startFaultyProxy({ target: new URL(redisUrl).host });
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  const database = new URL(dataDir.environment['MONGODB_URL'] ?? '').pathname;
  service = await startHerald(dataDir, {
    ...world.environment,
    MONGODB_URL: `mongodb://${mongo.address}${database}?directConnection=true`,
    REDIS_URL: `redis://${redis.address}`,
  });
  steady = setInterval(() => posts.push(post()), 1000 / perSecond);
}, 180_000);

afterAll(async () => {
  clearInterval(steady);
  await poster.close();
  await service.stop();
  await world.close();
  await dataDir.remove();
  await Promise.all([mongo.close(), redis.close()]);
}, 120_000);

it('answers queries or says 503 through every fault, accepts all, and has everything exactly once afterwards', async () => {
  const faults: readonly [string, (of: FaultyProxy) => void][] = [
    ['delays 200 ms', (of) => of.delay(200)],
    ['drops all connections twice a second', (of) => dropFor(of)],
    ['is half-open', (of) => of.halfOpen()],
  ];
  const answers: { readonly fault: string; readonly status: number; readonly ms: number }[] = [];
  for (const [fault, begin] of faults) {
    const begunAt = performance.now();
    for (const proxy of [mongo, redis]) begin(proxy);
    while (performance.now() - begunAt < faultMs) {
      const askedAt = performance.now();
      const { status } = await service.dashboard('GET', '/notifications');
      answers.push({ fault, status, ms: performance.now() - askedAt });
    }
    for (const proxy of [mongo, redis]) {
      proxy.delay(0);
      proxy.mend();
    }
    await until(async () => (await service.dashboard('GET', '/notifications')).status === 200, {
      timeoutMs: 30_000,
      what: `queries after a network that ${fault}`,
    });
  }
  clearInterval(steady);
  await Promise.all(posts);
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  expect(answers.filter(({ ms }) => ms > queryMaxMs)).toEqual([]);
  expect(posted.filter(({ status }) => status !== 202)).toEqual([]);
  await until(async () => (await delivered()) === posted.length, { timeoutMs: 60_000, what: 'all to be delivered' });
  const records = await allRecords(service);
  expect(new Set(records.map(({ id }) => id))).toEqual(new Set(posted.map(({ id }) => id)));
  expect(withoutZeros((await statisticsOf(service)).statusCounts)).toEqual(groupedBy(records, 'status'));
}, 300_000);

async function post(): Promise<void> {
  const recipient = `${world.webhooks.url}/${posts.length}`;
  posted.push(await poster.post(service, { channel: 'WEBHOOK', recipient, body: 'hi' }));
}

function dropFor(of: FaultyProxy): void {
  const dropping = setInterval(of.drop, 500);
  setTimeout(() => clearInterval(dropping), faultMs);
}

async function delivered(): Promise<number> {
  const { statusCounts } = await statisticsOf(service);
  return (statusCounts as Record<string, number>)['DELIVERED'] ?? 0;
}
