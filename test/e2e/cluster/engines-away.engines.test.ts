// An engine goes away under load and comes back: what each part of the service does then, and that nothing is missing afterwards.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnMongo, startOwnRedis, startOwnRegistry } from '../../support/engine-control.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import type { Readiness } from '../../support/nodes.ts';
import { readinessOf } from '../../support/nodes.ts';
import type { Posted } from '../../support/posting.ts';
import { createPoster } from '../../support/posting.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const mongoAwayMs = Number(process.env['E2E_AWAY_MS'] ?? '15000');
const redisAwayMs = mongoAwayMs / 2;
/** How often a process looks whose settings have changed (adapters/memory/delivery-directory.ts). */
const settingsLookMs = 2_000;
const perSecond = 50;
const poster = createPoster();
let mongo: OwnEngine;
let redis: OwnEngine;
let registry: OwnEngine;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let posted: Posted[];
let steady: NodeJS.Timeout;
let posts: Promise<void>[];
let sent = 0;

beforeAll(async () => {
  [mongo, redis, registry] = await Promise.all([startOwnMongo(), startOwnRedis(), startOwnRegistry()]);
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  const environment = {
    ...world.environment,
    MONGODB_URL: mongo.address.replace('/?', '/herald?'),
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
  };
  service = await startHerald(dataDir, environment);
  const madeAt = Date.now();
  // A tenant whose settings have changed is known again once the store was asked: it is to be known before the store is away.
  await until(() => Date.now() - madeAt > 2 * settingsLookMs, { what: 'the service to have seen the new tenant' });
}, 180_000);

afterAll(async () => {
  await poster.close();
  await service.stop();
  await world.close();
  await dataDir.remove();
  await Promise.all([mongo.stop(), redis.stop(), registry.stop()]);
}, 120_000);

beforeEach(() => {
  posted = [];
  posts = [];
  steady = setInterval(() => posts.push(post()), 1000 / perSecond);
});
afterEach(() => clearInterval(steady));

it('MongoDB away: accepting and first deliveries go on, queries and what has an Idempotency-Key get 503; afterwards everything is there and exact', async () => {
  await goesOn();
  await mongo.kill();
  const killedAt = Date.now();
  const query = await until(
    async () => {
      const { status, body } = await service.dashboard('GET', '/notifications');
      return status !== 200 && { status, body };
    },
    { timeoutMs: 15_000, what: 'a query that fails' },
  );
  expect(query).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } });
  await goesOn();
  expect(await readinessOf(service.operationsUrl)).toMatchObject({
    status: 'not ready',
    dependencies: { log: 'up', readModels: 'down', settings: 'down' },
  });
  await until(() => Date.now() - killedAt > mongoAwayMs, {
    timeoutMs: mongoAwayMs + 1000,
    what: 'the time to be over',
  });
  await goesOn();
  expect(await postKeyed()).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE' } });
  await mongo.start();
  const first = await until(
    async () => {
      const answer = await postKeyed();
      return answer.status === 202 && answer;
    },
    { timeoutMs: 60_000, everyMs: 500, what: 'the request with a key to be accepted' },
  );
  sent++;
  const again = await postKeyed();
  expect([again.status, again.body]).toEqual([202, first.body]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  await allIsThere();
  // A number that stood still is ready with the watchdog's next look, a read model with its next fold.
  let readiness: Readiness | null = null;
  await until(async () => (readiness = await readinessOf(service.operationsUrl))?.status === 'ready', {
    timeoutMs: 30_000,
    what: 'readiness',
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(readiness)}`);
  });
}, 240_000);

it('Redis away: nothing is refused for it', async () => {
  await goesOn();
  await redis.kill();
  const killedAt = Date.now();
  await until(() => Date.now() - killedAt > redisAwayMs, {
    timeoutMs: redisAwayMs + 1000,
    what: 'the time to be over',
  });
  await goesOn();
  expect(await readinessOf(service.operationsUrl)).toMatchObject({
    status: 'ready',
    dependencies: { limits: 'down, not needed' },
  });
  await redis.start();
  await until(async () => (await readinessOf(service.operationsUrl))?.dependencies['limits'] === 'up', {
    timeoutMs: 15_000,
    what: 'the limits back in Redis',
  });
  await allIsThere();
}, 120_000);

it('the registry away after the start: nothing notices', async () => {
  await goesOn();
  await registry.kill();
  await goesOn();
  const [record] = await allRecords(service);
  expect(record).toBeDefined();
  expect((await readinessOf(service.operationsUrl))?.status).toBe('ready');
  await allIsThere();
}, 60_000);

async function post(): Promise<void> {
  const recipient = `${world.webhooks.url}/${sent++}`;
  posted.push(await poster.post(service, { channel: 'WEBHOOK', recipient, body: 'hi' }));
}

function postKeyed() {
  const headers = { 'x-api-key': service.apiKey, 'idempotency-key': 'while MongoDB is away' };
  return service.call('POST', '/api/v1/notify', { headers, body: { channel: 'IN_APP', recipient: 'ada', body: 'hi' } });
}

/** One that is posted now is accepted and arrives. */
async function goesOn(): Promise<void> {
  const path = `/goes-on-${sent++}`;
  const { status } = await poster.post(service, {
    channel: 'WEBHOOK',
    recipient: `${world.webhooks.url}${path}`,
    body: 'hi',
  });
  expect(status).toBe(202);
  await until(() => world.webhooks.requests.some((request) => request.path === path), { what: 'its arrival' });
}

/** Everything was accepted, has one DELIVERED record, and is counted. */
async function allIsThere(): Promise<void> {
  clearInterval(steady);
  await Promise.all(posts);
  expect(posted.filter(({ status }) => status !== 202)).toEqual([]);
  await until(
    async () => {
      const { total, statusCounts } = await statisticsOf(service).catch(() => ({ total: -1, statusCounts: {} }));
      return total === sent && (statusCounts as Record<string, number>)['DELIVERED'] === total;
    },
    { timeoutMs: 60_000, what: 'everything in the read models' },
  );
  const records = await allRecords(service);
  expect(new Set(records.map(({ id }) => id)).size).toBe(sent);
  expect(withoutZeros((await statisticsOf(service)).statusCounts)).toEqual(groupedBy(records, 'status'));
  const ids = new Set(records.map(({ id }) => id));
  expect(posted.filter(({ id }) => id === null || !ids.has(id))).toEqual([]);
}
