// The typed client before two whole services: the main job, lists over many pages, and a stream that goes on when the process that told it is killed.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { BatchItem, Herald as Client } from '../../../clients/typescript/src/index.ts';
import { createHerald, HeraldError, verifyWebhook } from '../../../clients/typescript/src/index.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { FaultyProxy } from '../../support/faulty-proxy.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import type { DataDir, Herald } from '../../support/herald.ts';
import { makeDataDir, startHerald, token } from '../../support/herald.ts';
import { until } from '../../support/until.ts';

let dataDir: DataDir;
let world: DeliveryWorld;
let services: readonly [Herald, Herald];
/** As a balancer: new connections are to the service of this number. */
let at: 0 | 1;
let balancer: FaultyProxy;
let client: Client;

beforeAll(async () => {
  [dataDir, world] = [await makeDataDir(), await startDeliveryWorld()];
  const start = () => startHerald(dataDir, world.environment);
  services = [await start(), await start()];
  at = 0;
  balancer = await startFaultyProxy({ target: () => new URL(services[at].url).host });
  const bearer = await token(dataDir);
  client = createHerald({ url: `http://${balancer.address}`, apiKey: services[0].apiKey, token: bearer });
}, 180_000);

afterAll(async () => {
  await balancer.close();
  await Promise.all(services.map((service) => service.stop()));
  await world.close();
  await dataDir.remove();
}, 60_000);

const wait = { timeoutMs: 30_000 };
/** Whatever was open is at the other service from now on. */
const turnTo = (other: 0 | 1) => {
  at = other;
  balancer.drop();
};
const inbox = (userId: string) => ({ path: { userId } });
const items = (recipient: string, from: number, count: number): BatchItem[] =>
  Array.from({ length: count }, (_, i) => ({ channel: 'IN_APP', recipient, body: String(from + i) }));
const numbers = (bodies: readonly string[]) => bodies.map(Number).toSorted((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

it('sends at one service and reads at the other, and a webhook that came is verified', async () => {
  const { webhookSecret } = await client.request('GET /tenant');
  const sent = await client.receive('POST /notify', {
    body: { channel: 'WEBHOOK', recipient: `${world.webhooks.url}/orders`, subject: 'Order', body: 'Order 17' },
  });
  turnTo(1);
  const id = sent.data.notificationId;
  const afterPosition = sent.headers.get('x-event-position') ?? '';
  expect((await client.request('GET /notify/{id}', { path: { id }, afterPosition })).notification).toMatchObject({
    id,
  });
  const request = await until(() => world.webhooks.requests.find(({ path }) => path === '/orders'), wait);
  const { body, headers } = request;
  const message = await verifyWebhook({ secrets: webhookSecret, headers, body });
  expect(message).toMatchObject({ data: { notificationId: id, body: 'Order 17' } });
  await until(
    async () => (await client.request('GET /notifications/{id}', { path: { id } })).notification.status === 'DELIVERED',
    wait,
  );
  const refused = client.notify({ channel: 'SMS', recipient: 'nobody', body: 'x' });
  await expect(refused).rejects.toBeInstanceOf(HeraldError);
  await expect(refused).rejects.toMatchObject({ status: 400, details: [{ path: 'recipient' }] });
}, 60_000);

it('goes through all pages, each at the other service', async () => {
  const batch = await client.notifyBatch(items('pages', 0, 40));
  expect(batch.accepted).toBe(40);
  for (const other of [0, 1] as const) {
    turnTo(other);
    const isThere = async () => (await client.request('GET /notify/inapp/{userId}', inbox('pages'))).unreadCount === 40;
    await until(isThere, wait);
  }
  const bodies: string[] = [];
  for await (const page of client.pages('GET /notify/inapp/{userId}', { ...inbox('pages'), query: { limit: 7 } })) {
    bodies.push(...page.notifications.map(({ body }) => body));
    turnTo(at === 0 ? 1 : 0);
  }
  expect(numbers(bodies)).toEqual(upTo(40));
  const ids: string[] = [];
  const query = { batchId: batch.batchId, limit: 9 };
  for await (const { id } of client.each('GET /notifications', { query })) {
    if (ids.push(id) % 9 === 0) turnTo(at === 0 ? 1 : 0);
  }
  expect(new Set(ids).size).toBe(40);
  expect(ids).toHaveLength(40);
}, 60_000);

it('tells each message once over a process that is killed', async () => {
  const [first, second] = services;
  turnTo(0);
  const { token: own } = await client.request('POST /notify/inapp/{userId}/token', inbox('ada'));
  const page = createHerald({ url: `http://${balancer.address}`, token: own });
  const at1 = createHerald({ url: second.url, apiKey: first.apiKey });
  const [seen, cuts, ending]: [string[], unknown[], AbortController] = [[], [], new AbortController()];
  let opened = 0;
  const listening = (async () => {
    const options = { signal: ending.signal, onCut: (cause: unknown) => void cuts.push(cause) };
    for await (const { event, data } of page.stream('GET /notify/inapp/{userId}/stream', {
      ...inbox('ada'),
      ...options,
    })) {
      if (event === 'connected') opened++;
      if (event === 'notification') seen.push(data.body);
    }
  })();
  await until(() => opened === 1, { ...wait, what: 'the stream' });
  await at1.notifyBatch(items('ada', 0, 30));
  await until(() => seen.length > 0, { ...wait, what: 'some of them' });
  at = 1;
  await first.kill();
  await at1.notifyBatch(items('ada', 30, 30));
  await until(() => seen.length >= 60, { ...wait, what: 'all of them' });
  expect(numbers(seen)).toEqual(upTo(60));
  expect(cuts.length).toBeGreaterThan(0);
  await until(async () => (await at1.request('GET /notify/inapp/{userId}', inbox('ada'))).unreadCount === 60, wait);
  ending.abort(new Error('enough'));
  await expect(listening).rejects.toThrow('enough');
  expect(numbers(seen)).toEqual(upTo(60));
}, 90_000);
