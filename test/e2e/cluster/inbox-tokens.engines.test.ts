// A recipient's token needs no stickiness: what one process has made the other takes, and once it has ended, or its secret is exchanged, both refuse it.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { EventReader } from '../../support/event-source.ts';
import { readEvents } from '../../support/event-source.ts';
import type { Herald } from '../../support/herald.ts';
import { herald as command, startHerald } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { until } from '../../support/until.ts';

const former = 'the former encryption secret, of more than 32 characters';
const next = 'the next encryption secret, of more than 32 characters';
/** As OPERATIONS has it for a cluster: first all can open what any will seal, then the two are swapped, then the former one goes. */
const onFormer = { ENCRYPTION_SECRET: former, ENCRYPTION_SECRET_PREVIOUS: next };
const onBoth = { ENCRYPTION_SECRET: next, ENCRYPTION_SECRET_PREVIOUS: former };
const onNext = { ENCRYPTION_SECRET: next };

let dataDir: DataDir;
let apis: [Herald, Herald];
let rest: Node;

const startApi = (secrets: Readonly<Record<string, string>>) => startHerald(dataDir, secrets, ['--role', 'api']);

beforeAll(async () => {
  dataDir = await makeDataDir();
  apis = [await startApi(onFormer), await startApi(onFormer)];
  rest = await startNode(dataDir, onFormer, ['--role', 'dispatcher,projector,scheduler']);
}, 120_000);

afterAll(async () => {
  await Promise.all([...apis, rest].map((one) => one.stop()));
  await dataDir.remove();
}, 60_000);

const ada = '/api/v1/notify/inapp/ada';
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function makeToken(at: Herald, { apiKey = at.apiKey, body = {} }: { apiKey?: string; body?: object } = {}) {
  const answer = await at.call('POST', `${ada}/token`, { headers: { 'x-api-key': apiKey }, body });
  expect(answer.status).toBe(200);
  return String(answer.body['token']);
}

const streamAt = (at: Herald, token: string): Promise<EventReader> =>
  readEvents(`${at.url}${ada}/stream?token=${token}`, {});

/** Of the list, the mark and the stream. */
async function answersOf(at: Herald, token: string) {
  const [list, mark] = [
    await at.call('GET', ada, bearer(token)),
    await at.call('POST', `${ada}/read`, { ...bearer(token), body: {} }),
  ];
  const stream = await streamAt(at, token);
  await stream.close();
  return { statuses: [list.status, mark.status, stream.status], error: String(list.body['error']) };
}

const taken = { statuses: [200, 200, 200] };
const refused = (why: RegExp) => ({ statuses: [401, 401, 401], error: expect.stringMatching(why) });

it('a token of one process lists, marks and streams at the other', async () => {
  const [one, other] = apis;
  const token = await makeToken(one);
  const streams = await Promise.all(apis.map((api) => streamAt(api, token)));
  expect((await one.notify({ channel: 'IN_APP', recipient: 'ada', body: 'hello' })).status).toBe(202);
  for (const stream of streams)
    await until(() => stream.events.some(({ event }) => event === 'notification'), { what: 'it in both streams' });
  const { body } = await other.call('GET', ada, bearer(token));
  expect(body).toMatchObject({ unreadCount: 1, notifications: [{ body: 'hello', read: false }] });
  const [item] = body['notifications'] as { id: string }[];
  const mark = await other.call('POST', `${ada}/read`, { ...bearer(token), body: { ids: [item?.id] } });
  expect(mark).toMatchObject({ status: 200, body: { updated: 1 } });
  for (const stream of streams)
    await until(() => stream.events.some(({ event }) => event === 'read'), { what: 'the mark in both streams' });
  expect((await one.call('GET', ada, bearer(token))).body).toMatchObject({ unreadCount: 0 });
  const stranger = await other.call('GET', '/api/v1/notify/inapp/bob', bearer(token));
  expect(stranger).toMatchObject({ status: 403, body: { error: expect.stringMatching(/another recipient/) } });
  for (const stream of streams) await stream.close();
}, 60_000);

it('a token that has ended is refused by both, and so is one whose key was deleted at either, its streams ended', async () => {
  const [one, other] = apis;
  const made = await one.dashboard('POST', '/keys', { name: 'inboxes', scopes: ['inbox'] });
  const ofKey = await makeToken(one, { apiKey: String(made.body['key']) });
  const short = await makeToken(one, { body: { expiresInSeconds: 8 } });
  const streams = await Promise.all([short, ofKey].flatMap((token) => apis.map((api) => streamAt(api, token))));
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await other.dashboard('DELETE', `/keys/${String(made.body['id'])}`)).status).toBe(200);
  await until(() => streams.every((stream) => stream.hasEnded()), { timeoutMs: 30_000, what: 'all streams to end' });
  for (const api of apis)
    for (const token of [short, ofKey]) expect(await answersOf(api, token)).toMatchObject(refused(/has ended/));
}, 60_000);

it('a token holds while the secret is exchanged, at both, and is refused by both once the former secret is gone', async () => {
  const before = await makeToken(apis[0]);
  await apis[1].stop();
  apis[1] = await startApi(onBoth);
  const after = await makeToken(apis[1]);
  for (const api of apis) for (const token of [before, after]) expect(await answersOf(api, token)).toMatchObject(taken);
  await Promise.all(apis.map((api) => api.stop()));
  const rotated = await command(['rotate-secrets'], { ...dataDir.environment, ...onBoth });
  expect([rotated.code, rotated.stdout]).toEqual([0, expect.stringContaining('is not needed any more')]);
  apis = await Promise.all([startApi(onNext), startApi(onNext)]);
  for (const api of apis) {
    expect(await answersOf(api, before)).toMatchObject(refused(/not valid/));
    expect(await answersOf(api, after)).toMatchObject(taken);
  }
}, 120_000);
