// An Idempotency-Key over processes and kill -9: however often a request is repeated, one notification comes of it and is sent once.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import { engineSet } from '../support/engine-set.ts';
import type { Answer, DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { allRecords } from '../support/records.ts';
import { until } from '../support/until.ts';

/** Of which the last is killed. Embedded there is one. */
const processes = engineSet === 'embedded' ? 1 : 2;
let dataDir: DataDir;
let world: DeliveryWorld;
let services: Herald[];

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
  services = [];
  for (let i = 0; i < processes; i++) services.push(await startHerald(dataDir, world.environment));
}, 120_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
}, 60_000);

function post(service: Herald | undefined, key: string): Promise<Answer> {
  if (service === undefined) throw new Error('no such process');
  const headers = { 'x-api-key': service.apiKey, 'idempotency-key': key };
  const recipient = `${world.webhooks.url}/${key}`;
  return service.call('POST', '/api/v1/notify', { headers, body: { channel: 'WEBHOOK', recipient, body: 'hi' } });
}

const inParallel = (key: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => post(services[i % processes], key).catch(() => null)));

/** As a client does that repeats what wasn't answered. */
const accepted = (key: string) =>
  until(
    async () => {
      const answer = await post(services[0], key);
      if (answer.status !== 202) expect([409, 503]).toContain(answer.status);
      return answer.status === 202 && answer;
    },
    { timeoutMs: 60_000, everyMs: 200, what: `${key} to be accepted` },
  );

const arrivals = (key: string) => world.webhooks.requests.filter(({ path }) => path === `/${key}`).length;

it('200 in parallel over all processes are one notification, after a kill too', async () => {
  const answers = await inParallel('first', 200);
  expect(answers.map((answer) => answer?.status)).toEqual(Array(200).fill(202));
  expect(new Set(answers.map((answer) => answer?.body['notificationId'])).size).toBe(1);
  expect(answers.filter((answer) => answer?.headers.get('idempotent-replayed') !== 'true')).toHaveLength(1);

  const current = () => {
    const [service] = services;
    if (service === undefined) throw new Error('no such process');
    return service;
  };
  const delivered = (count: number) =>
    until(
      async () => {
        const all = await allRecords(current()).catch(() => []);
        return all.length >= count && all.every(({ status }) => status === 'DELIVERED') && all;
      },
      { timeoutMs: 60_000, what: `${count} delivered records` },
    );
  await delivered(1);
  const killed = services.at(-1);
  const keys = Array.from({ length: 20 }, (_, i) => `killed-${i}`);
  const underWay = Promise.all(keys.map((key) => inParallel(key, 10)));
  // In the middle: some have arrived, others are between reservation and answer.
  await until(() => keys.some((key) => arrivals(key) > 0), { timeoutMs: 60_000, everyMs: 1, what: 'an arrival' });
  await killed?.kill();
  const answered = new Map<string, unknown>();
  for (const [i, ofKey] of (await underWay).entries()) {
    for (const answer of ofKey) if (answer?.status === 202) answered.set(keys[i] ?? '', answer.body['notificationId']);
  }
  services[processes - 1] = await startHerald(dataDir, world.environment);
  const repeated = await Promise.all(keys.map((key) => accepted(key)));
  for (const [i, { body }] of repeated.entries()) {
    const before = answered.get(keys[i] ?? '');
    if (before !== undefined) expect(body['notificationId']).toBe(before);
  }
  const again = await accepted('first');
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([answers[0]?.body, 'true']);

  const records = await delivered(keys.length + 1);
  expect(new Set(records.map(({ recipient }) => recipient)).size).toBe(keys.length + 1);
  expect(records).toHaveLength(keys.length + 1);
  expect(arrivals('first')).toBe(1);
}, 240_000);
