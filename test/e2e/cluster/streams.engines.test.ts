// Live streams need no stickiness: what was begun at one process is gone on with at another, and a key that ends at one ends streams at all.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { EventReader } from '../../support/event-source.ts';
import { readEvents } from '../../support/event-source.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald, token } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { until } from '../../support/until.ts';

let dataDir: DataDir;
let apis: readonly [Herald, Herald];
let rest: Node;

beforeAll(async () => {
  dataDir = await makeDataDir();
  const environment = { RATE_LIMIT: '10000/10s' };
  const startApi = () => startHerald(dataDir, environment, ['--role', 'api']);
  apis = [await startApi(), await startApi()];
  rest = await startNode(dataDir, environment, ['--role', 'dispatcher,projector,scheduler']);
}, 120_000);

afterAll(async () => {
  await Promise.all([...apis, rest].map((one) => one.stop()));
  await dataDir.remove();
}, 60_000);

const send = async (api: Herald, recipient: string): Promise<string> => {
  const answer = await api.notify({ channel: 'IN_APP', recipient, body: 'hi' });
  expect(answer.status).toBe(202);
  return String(answer.body['notificationId']);
};

const wait = { timeoutMs: 20_000 };

/** Cut twice while notifications keep coming at both processes, and gone on with at the other one each time. */
async function toldOverBoth(
  open: (api: Herald, lastId: string | null) => Promise<EventReader>,
  perNotification: number,
) {
  const ids: string[] = [];
  const told: EventReader[] = [];
  let lastId: string | null = null;
  for (let round = 0; round < 4; round++) {
    const api = apis[round % 2] ?? apis[0];
    const reader = await open(api, lastId);
    told.push(reader);
    const sending = Promise.all(Array.from({ length: 10 }, (_, i) => send(apis[i % 2] ?? apis[0], 'ada')));
    // In the last round until everything is told, before that until some is.
    if (round < 3) await until(() => reader.events.length >= 4, wait);
    else
      await until(
        async () => told.flatMap(({ events }) => events.filter(isChange)).length >= 40 * perNotification,
        wait,
      );
    if (round < 3) await reader.close();
    lastId = reader.events.at(-1)?.id ?? null;
    ids.push(...(await sending));
  }
  await told.at(-1)?.close();
  return { ids, told: told.flatMap(({ events }) => events.filter(isChange).map(({ data }) => data)) };
}

const isChange = ({ data }: EventReader['events'][number]) => data.event !== 'connected';

it('an inbox stream goes on at another process without gap or repeat', async () => {
  const { ids, told } = await toldOverBoth(
    (api, lastId) =>
      readEvents(`${api.url}/api/v1/notify/inapp/ada/stream`, {
        'x-api-key': api.apiKey,
        ...(lastId === null ? {} : { 'last-event-id': lastId }),
      }),
    1,
  );
  expect(told.map(({ notificationId }) => String(notificationId)).toSorted()).toEqual(ids.toSorted());
}, 60_000);

it('a dashboard stream goes on at another process without gap or repeat', async () => {
  const bearer = await token(dataDir);
  const { ids, told } = await toldOverBoth(
    (api, lastId) =>
      readEvents(
        `${api.url}/api/v1/dashboard/stream?token=${bearer}`,
        lastId === null ? {} : { 'last-event-id': lastId },
      ),
    2,
  );
  const expected = ids.flatMap((id) => [`${id} DELIVERED`, `${id} QUEUED`]).toSorted();
  expect(told.map(({ notificationId, status }) => `${String(notificationId)} ${String(status)}`).toSorted()).toEqual(
    expected,
  );
}, 60_000);

it('a key that is regenerated at one process ends its streams at the other within 5 s', async () => {
  const bearer = await token(dataDir, {}, ['--sub', 'streams']);
  const headers = { authorization: `Bearer ${bearer}` };
  const provisioned = await apis[0].call('POST', '/api/v1/auth/provision-tenant', { headers });
  const { apiKey } = provisioned.body['tenant'] as { apiKey: string };
  const streams = await Promise.all(
    apis.map((api) => readEvents(`${api.url}/api/v1/notify/inapp/ada/stream`, { 'x-api-key': apiKey })),
  );
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  expect((await apis[0].call('POST', '/api/v1/auth/regenerate-key', { headers })).status).toBe(200);
  await until(() => streams.every((stream) => stream.hasEnded()), { timeoutMs: 5000, what: 'both streams to end' });
}, 60_000);
