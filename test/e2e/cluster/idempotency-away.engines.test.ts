// Idempotency keys over two processes while MongoDB is away and after it has lost them: whoever was refused repeats, and each key is one notification.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { OwnEngine } from '../../support/engine-control.ts';
import { startOwnMongo } from '../../support/engine-control.ts';
import type { Answer, Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { allRecords } from '../../support/records.ts';
import { until } from '../../support/until.ts';

let mongo: OwnEngine;
let mongoUrl: string;
let dataDir: DataDir;
let world: DeliveryWorld;
let services: Herald[];

beforeAll(async () => {
  mongo = await startOwnMongo();
  mongoUrl = mongo.address.replace('/?', '/herald?');
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  const environment = { ...world.environment, MONGODB_URL: mongoUrl };
  services = [await startHerald(dataDir, environment), await startHerald(dataDir, environment)];
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
  await mongo.stop();
}, 120_000);

it('200 in parallel are one notification before, refused while MongoDB is away, and one after it, also where it has lost the keys', async () => {
  const first = await inParallel('first', 200);
  expect(new Set(first.map(({ status }) => status))).toEqual(new Set([202]));
  const [id] = idsOf(first);
  expect(idsOf(first)).toEqual([id]);
  await delivered(1);

  await mongo.kill();
  for (const key of ['first', 'second']) {
    const refused = await inParallel(key, 20);
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  }
  await mongo.start();
  await Promise.all(services.map((service) => accepted(service, 'second')));
  const after = [...(await inParallel('first', 200)), ...(await inParallel('second', 200))];
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([202]));
  expect(idsOf(after)).toHaveLength(2);
  expect(idsOf(after)).toContain(id);
  await delivered(2);

  const client = await new MongoClient(mongoUrl).connect();
  await client.db().collection('idempotency_keys').deleteMany({});
  await client.close();
  const lost = await inParallel('first', 200);
  expect(new Set(lost.map(({ status }) => status))).toEqual(new Set([202]));
  expect(idsOf(lost)).toEqual([id]);
  expect((await delivered(2)).map(({ recipient }) => recipient)).toHaveLength(2);
  expect(world.webhooks.requests.map(({ path }) => path).toSorted()).toEqual(['/first', '/second']);
}, 300_000);

/** What is under way for too long elsewhere is asked for again, as its 409 says. */
async function post(service: Herald | undefined, key: string): Promise<Answer> {
  if (service === undefined) throw new Error('no such process');
  const headers = { 'x-api-key': service.apiKey, 'idempotency-key': key };
  const body = { channel: 'WEBHOOK', recipient: `${world.webhooks.url}/${key}`, body: 'hi' };
  for (;;) {
    const answer = await service.call('POST', '/api/v1/notify', { headers, body });
    if (answer.status !== 409) return answer;
  }
}

const inParallel = (key: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => post(services[i % services.length], key)));

const idsOf = (answers: readonly Answer[]) => [...new Set(answers.map(({ body }) => body['notificationId']))];

/** As a client does that repeats what was refused. */
const accepted = (service: Herald, key: string) =>
  until(async () => (await post(service, key)).status === 202, { timeoutMs: 120_000, everyMs: 200, what: key });

const delivered = (count: number) =>
  until(
    async () => {
      const [service] = services;
      const all = service === undefined ? [] : await allRecords(service).catch(() => []);
      return all.length >= count && all.every(({ status }) => status === 'DELIVERED') && all;
    },
    { timeoutMs: 120_000, everyMs: 100, what: `${count} delivered records` },
  );
