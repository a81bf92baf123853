// A tenant's history over HTTP: what the log has, once and in order, as pages, as lines and over a restart.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';

interface Told {
  readonly type: string;
  readonly eventId: string;
  readonly notificationId: string | null;
  readonly appendedAt: string;
}

interface Answer {
  readonly told: readonly Told[];
  readonly nextCursor: string | null;
  readonly endCursor: string;
}

const count = 60;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
/** With the scope `read`. */
let readKey: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((_, response) => response.end('thanks'));
  service = await startHerald(dataDir, world.environment);
  await world.configure(service);
  const { body } = await service.dashboard('POST', '/keys', { name: 'warehouse', scopes: ['read'] });
  readKey = String(body['key']);
});
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
});

async function page(query: string): Promise<Answer> {
  const { status, body } = await service.dashboard('GET', `/events?${query}`);
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return { ...(body as unknown as Answer), told: body['data'] as Told[] };
}

async function lines(query: string): Promise<Answer> {
  const headers = { 'x-api-key': readKey, accept: 'application/x-ndjson' };
  const text = await (await fetch(`${service.url}/api/v1/events?${query}`, { headers })).text();
  const parsed = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);
  return { ...(parsed.at(-1) as unknown as Answer), told: parsed.slice(0, -1) };
}

const idsOf = (told: readonly Told[]) => told.map(({ eventId }) => eventId);

async function send(n: number): Promise<string> {
  const webhook = { channel: 'WEBHOOK', recipient: `${world.webhooks.url}/${n}`, body: `webhook ${n}` };
  const { status, body } = await service.notify(
    n % 2 === 0 ? webhook : { channel: 'IN_APP', recipient: `user-${n}`, body: `item ${n}` },
  );
  if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return String(body['notificationId']);
}

const delivered = (expected: number) =>
  until(
    async () => {
      const { body } = await service.dashboard('GET', '/notifications?status=DELIVERED&limit=1');
      return (body['pagination'] as { total?: number } | undefined)?.total === expected;
    },
    { what: `${expected} deliveries`, timeoutMs: 60_000 },
  );

it('every event is told once, oldest first, by pages, by lines, by type, time and notification', async () => {
  const ids = await Promise.all(Array.from({ length: count }, (_, n) => send(n)));
  await delivered(count);
  const { told, endCursor, nextCursor } = await lines('');
  expect(nextCursor).toBeNull();
  for (const type of ['NotificationRequested', 'AttemptSucceeded']) {
    const ofType = told.filter((event) => event.type === type);
    expect(ofType.map(({ notificationId }) => String(notificationId)).toSorted()).toEqual(ids.toSorted());
    expect(idsOf((await lines(`type=${type}`)).told)).toEqual(idsOf(ofType));
  }
  expect(new Set(idsOf(told)).size).toBe(told.length);
  const times = told.map(({ appendedAt }) => appendedAt);
  expect(times).toEqual(times.toSorted());

  const paged: Told[] = [];
  for (let query = 'limit=17'; ;) {
    const one = await page(query);
    paged.push(...one.told);
    if (one.nextCursor === null) break;
    query = `limit=17&cursor=${one.nextCursor}`;
  }
  expect(idsOf(paged)).toEqual(idsOf(told));

  const middle = times[Math.floor(times.length / 2)] ?? '';
  expect(idsOf((await lines(`from=${middle}`)).told)).toEqual(
    idsOf(told.filter(({ appendedAt }) => appendedAt >= middle)),
  );
  const [first = ''] = ids;
  const own = (await page(`notificationId=${first}`)).told;
  expect(own.map(({ type, notificationId }) => [type, notificationId])).toEqual([
    ['NotificationRequested', first],
    ['AttemptSucceeded', first],
  ]);
  expect((await page(`cursor=${endCursor}`)).told).toEqual([]);
});

it('a load that ended goes on behind its cursor after a restart: no gap, no repeat', async () => {
  const { told, endCursor } = await lines('');
  await service.stop();
  service = await startHerald(dataDir, world.environment);
  const id = await send(count + 1);
  await delivered(count + 1);
  const since = await lines(`cursor=${endCursor}`);
  const ofOne = since.told.filter(({ notificationId }) => notificationId === id);
  expect(ofOne.map(({ type }) => type)).toEqual(['NotificationRequested', 'AttemptSucceeded']);
  const whole = await lines('');
  expect(idsOf([...told, ...since.told]).toSorted()).toEqual(idsOf(whole.told).toSorted());
});

it('the list as CSV has every notification', async () => {
  const headers = { 'x-api-key': readKey };
  const text = await (await fetch(`${service.url}/api/v1/notifications.csv`, { headers })).text();
  expect(text.trimEnd().split('\r\n')).toHaveLength(count + 2);
});
