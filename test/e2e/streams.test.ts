// Live streams and read-your-writes of the real process, where the read models are folded in a thread of their own.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readEvents } from '../support/event-source.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, { RATE_LIMIT: '10000/10s' });
});
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

async function send(recipient: string, body: string): Promise<string> {
  const answer = await service.notify({ channel: 'IN_APP', recipient, body });
  expect(answer.status).toBe(202);
  return String(answer.body['notificationId']);
}

describe('the inbox stream', () => {
  it('gives each item once, and goes on after Last-Event-ID without gap or repeat while items keep coming', async () => {
    const headers = { 'x-api-key': service.apiKey };
    const url = `${service.url}/api/v1/notify/inapp/ada/stream`;
    const first = await readEvents(url, headers);
    const sent = Array.from({ length: 60 }, (_, i) => `item ${i}`);
    for (const body of sent.slice(0, 20)) await send('ada', body);
    await first.atLeast(5);
    await first.close();
    const seen = first.events.map(({ data }) => String(data.body));
    const lastId = first.events.at(-1)?.id ?? '';
    for (const body of sent.slice(20, 40)) await send('ada', body);
    const second = await readEvents(url, { ...headers, 'last-event-id': lastId });
    await Promise.all(sent.slice(40).map((body) => send('ada', body)));
    await second.atLeast(60 - seen.length);
    await second.close();
    const all = [...seen, ...second.events.map(({ data }) => String(data.body))];
    expect(all).toHaveLength(60);
    expect(all.toSorted()).toEqual(sent.toSorted());
  });

  it('misses and repeats nothing when it is cut 50 times before its first item', async () => {
    const url = `${service.url}/api/v1/notify/inapp/erin/stream`;
    const [sent, told]: [string[], string[]] = [[], []];
    let lastId: string | null = null;
    const next = async () => {
      const resumed: Record<string, string> = lastId === null ? {} : { 'last-event-id': lastId };
      const reader = await readEvents(url, { 'x-api-key': service.apiKey, ...resumed });
      await until(() => reader.connected.length > 0, { what: 'connected' });
      return reader;
    };
    const cut = async (reader: Awaited<ReturnType<typeof next>>) => {
      await reader.close();
      told.push(...reader.events.map(({ data }) => String(data.notificationId)));
      lastId = reader.lastEventId();
    };
    for (let i = 0; i < 50; i++) {
      const reader = await next();
      // Every other time before anything is there to be told at all.
      if (i % 2 === 0) await cut(reader);
      sent.push(await send('erin', `cut ${i}`));
      if (i % 2 === 1) await cut(reader);
    }
    const last = await next();
    await until(() => told.length + last.events.length >= sent.length, { what: 'what was missed' });
    await cut(last);
    expect(told.toSorted()).toEqual(sent.toSorted());
  });

  it('tells what was read', async () => {
    const headers = { 'x-api-key': service.apiKey };
    const stream = await readEvents(`${service.url}/api/v1/notify/inapp/bob/stream`, headers);
    await send('bob', 'hi');
    await stream.atLeast(1);
    const read = await service.call('POST', '/api/v1/notify/inapp/bob/read', { headers });
    expect(read.body).toEqual({ success: true, updated: 1 });
    await stream.atLeast(2);
    await stream.close();
    expect(stream.events[1]).toMatchObject({ event: 'read', data: { ids: [stream.events[0]?.data.id] } });
  });
});

describe('the dashboard stream', () => {
  it('begins with connected, then tells changes of status, and a GET never knows less', async () => {
    const bearer = await token(dataDir);
    const stream = await readEvents(`${service.url}/api/v1/dashboard/stream?token=${bearer}`, {});
    await stream.atLeast(1);
    expect(stream.events[0]?.data).toMatchObject({ event: 'connected' });
    const id = await send('carol', 'hi');
    await until(() => stream.events.some(({ data }) => data.notificationId === id && data.status === 'DELIVERED'));
    const { body } = await service.dashboard('GET', `/notifications/${id}`);
    expect(body['notification']).toMatchObject({ status: 'DELIVERED' });
    await stream.close();
    const statuses = stream.events
      .filter(({ data }) => data.notificationId === id)
      .map(({ data }) => String(data.status));
    expect(statuses).toEqual(['QUEUED', 'DELIVERED']);
  });
});

describe('the dashboard stream, cut', () => {
  it('goes on after Last-Event-ID without gap or repeat while notifications keep coming', async () => {
    const url = `${service.url}/api/v1/dashboard/stream?token=${await token(dataDir)}`;
    const first = await readEvents(url, {});
    await first.atLeast(1);
    const sent = Array.from({ length: 15 }, (_, i) => `user ${i}`);
    const early = Promise.all(sent.map((recipient) => send(recipient, 'before the cut')));
    await first.atLeast(6);
    await first.close();
    const ids = [
      ...(await early),
      ...(await Promise.all(sent.map((recipient) => send(recipient, 'while it was cut')))),
    ];
    const second = await readEvents(url, { 'last-event-id': first.events.at(-1)?.id ?? '' });
    ids.push(...(await Promise.all(sent.map((recipient) => send(recipient, 'after')))));
    const expected = ids.flatMap((id) => [`${id} DELIVERED`, `${id} QUEUED`]).toSorted();
    const changesOf = ({ events }: typeof first) =>
      events.slice(1).map(({ data }) => `${String(data.notificationId)} ${String(data.status)}`);
    const told = () => [...changesOf(first), ...changesOf(second)].toSorted();
    await until(() => told().length >= expected.length, { timeoutMs: 20_000, what: `${expected.length} changes` });
    await second.close();
    expect(told()).toEqual(expected);
  });
});

describe('x-after-position', () => {
  it('waits until the read model has what was just written', async () => {
    for (let i = 0; i < 20; i++) {
      const answer = await service.notify({ channel: 'IN_APP', recipient: 'dora', body: `hi ${i}` });
      const position = answer.headers.get('x-event-position') ?? '';
      const headers = { 'x-api-key': service.apiKey, 'x-after-position': position };
      const found = await service.call('GET', `/api/v1/notify/${String(answer.body['notificationId'])}`, { headers });
      expect(found.status).toBe(200);
    }
  });
});
