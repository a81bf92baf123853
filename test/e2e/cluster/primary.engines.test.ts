// MongoDB's primary steps down and is killed, in turn, under load by two processes of every role: everything that was accepted is delivered and counted exactly.
// E2E_PRIMARY_FAULTS=10 is the long run.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MongoClient, MongoError } from 'mongodb';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnMongo } from '../../support/engine-control.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { readinessOf } from '../../support/nodes.ts';
import type { Posted } from '../../support/posting.ts';
import { createPoster } from '../../support/posting.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const faults = Number(process.env['E2E_PRIMARY_FAULTS'] ?? '2');
const perSecond = 50;
/** The set has one member, which is its own successor then. */
const steppedDownSeconds = 5;
/** How long a killed one is away. */
const awayMs = 3_000;
const deliveredWithinMs = 60_000;
const poster = createPoster();
const posted: Posted[] = [];
const posts: Promise<void>[] = [];
/** The first try of these is answered 500. */
const failedOnce = new Set<string>();
const arrivals = new Map<string, number>();
let mongo: OwnEngine;
let dataDir: DataDir;
let world: DeliveryWorld;
let services: Herald[];
let sent = 0;

beforeAll(async () => {
  mongo = await startOwnMongo();
  dataDir = await makeDataDir();
  world = await startDeliveryWorld(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    if (path.startsWith('/fails-once/') && !failedOnce.has(id)) {
      failedOnce.add(id);
      response.writeHead(500).end();
      return;
    }
    arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
    response.end('ok');
  });
  const environment = {
    ...world.environment,
    MONGODB_URL: mongo.address.replace('/?', '/herald?'),
    RETRY_DELAYS: '1s,2s,5s',
  };
  services = [await startHerald(dataDir, environment), await startHerald(dataDir, environment)];
}, 180_000);

afterAll(async () => {
  await poster.close();
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
  await mongo.stop();
}, 120_000);

it(
  `all that is accepted is delivered within 60 s of the last return and counted exactly, over ${faults} faults`,
  async () => {
    const steady = setInterval(() => posts.push(post()), 1000 / perSecond);
    for (let fault = 0; fault < faults; fault++) {
      await goesOn(`before fault ${fault}`);
      if (fault % 2 === 0) await stepDown();
      else await killAndStart();
    }
    const returnedAt = Date.now();
    await goesOn('after the last return');
    clearInterval(steady);
    await Promise.all(posts);
    expect([...new Set(posted.map(({ status }) => status))]).toEqual([202]);
    const webhooks = posted.filter((_, i) => kindOf(i) !== 'in-app').length;
    await until(() => arrivals.size >= webhooks, {
      timeoutMs: deliveredWithinMs,
      what: 'every webhook at the receiver',
    });
    expect(Date.now() - returnedAt).toBeLessThan(deliveredWithinMs);
    expect([...arrivals].filter(([, times]) => times > 1)).toEqual([]);
    await allIsCounted();
    for (const { operationsUrl } of services)
      await until(async () => (await readinessOf(operationsUrl))?.status === 'ready', {
        timeoutMs: 30_000,
        what: 'every process to be ready',
      });
  },
  180_000 + faults * 45_000,
);

const kinds = ['webhook', 'fails-once', 'scheduled', 'in-app'] as const;
function kindOf(i: number): (typeof kinds)[number] {
  return kinds[i % kinds.length] ?? 'webhook';
}

async function post(): Promise<void> {
  const i = sent++;
  const kind = kindOf(i);
  const service = services[(i >> 2) % 2] as Herald;
  const place =
    kind === 'in-app'
      ? { channel: 'IN_APP', recipient: `user-${i % 20}` }
      : { channel: 'WEBHOOK', recipient: `${world.webhooks.url}/${kind}/${i}` };
  const sendAt = kind === 'scheduled' ? { sendAt: new Date(Date.now() + 1000).toISOString() } : {};
  // At its place, whichever is answered first.
  posted[i] = await poster.post(service, { ...place, ...sendAt, body: 'hi' });
}

/** Of every kind one that is posted from now on arrives, at each of the two, retries and timers too. */
async function goesOn(what: string): Promise<void> {
  const from = sent;
  await until(
    () => {
      const arrived = posted.slice(from).map((one, i) => (one?.id && arrivals.has(one.id) ? kindOf(from + i) : null));
      return ['webhook', 'fails-once', 'scheduled'].every((kind) => arrived.some((one) => one === kind));
    },
    { timeoutMs: 60_000, what: `sending to go on ${what}` },
  );
}

async function stepDown(): Promise<void> {
  await withClient(async (client) => {
    await client
      .db('admin')
      .command({ replSetStepDown: steppedDownSeconds, secondaryCatchUpPeriodSecs: 0, force: true })
      .catch((error: unknown) => {
        // It may close this connection, too.
        if (!(error instanceof MongoError)) throw error;
      });
  });
  await untilPrimary();
}

async function killAndStart(): Promise<void> {
  await mongo.kill();
  const killedAt = Date.now();
  await until(() => Date.now() - killedAt > awayMs, { what: 'the time without it' });
  await mongo.start();
  await untilPrimary();
}

function untilPrimary(): Promise<boolean> {
  const isPrimary = () =>
    withClient(async (client) => (await client.db('admin').command({ hello: 1 }))['isWritablePrimary'] === true).catch(
      () => false,
    );
  return until(isPrimary, { timeoutMs: 60_000, everyMs: 100, what: 'a primary' });
}

async function withClient<T>(use: (client: MongoClient) => Promise<T>): Promise<T> {
  const { host } = new URL(mongo.address);
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, { serverSelectionTimeoutMS: 2000 });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

async function allIsCounted(): Promise<void> {
  const [service] = services as [Herald];
  await until(
    async () => {
      const { total, statusCounts } = await statisticsOf(service).catch(() => ({ total: -1, statusCounts: {} }));
      return total === sent && (statusCounts as Record<string, number>)['DELIVERED'] === total;
    },
    { timeoutMs: 60_000, what: 'everything in the read models' },
  );
  const records = await allRecords(service);
  const ids = new Set(records.map(({ id }) => id));
  expect(ids.size).toBe(sent);
  expect(posted.filter(({ id }) => id === null || !ids.has(id))).toEqual([]);
  expect(withoutZeros((await statisticsOf(service)).statusCounts)).toEqual(groupedBy(records, 'status'));
}
