// The inbox of a recipient, and both live streams.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { EventReader } from '../support/event-source.ts';
import { readEvents } from '../support/event-source.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
const open: EventReader[] = [];

beforeAll(async () => {
  app = await startApp({ options: { streams: { perTenantMax: 3 } } });
});

afterEach(async () => {
  for (const reader of open.splice(0)) await reader.close();
});

afterAll(() => app.close());

const to = (recipient: string, subject?: string) => ({
  channel: 'IN_APP',
  recipient,
  body: 'World',
  ...(subject === undefined ? {} : { subject }),
});

const stream = async (tenant: Tenant, recipient: string, headers: Record<string, string> = {}) => {
  const reader = await readEvents(`${app.url}/api/v1/notify/inapp/${recipient}/stream`, {
    'x-api-key': tenant.apiKey,
    ...headers,
  });
  open.push(reader);
  return reader;
};

const dashboardStream = async (tenant: Tenant) => {
  const reader = await readEvents(`${app.url}/api/v1/dashboard/stream?token=${tenant.token}`, {});
  open.push(reader);
  return reader;
};

const shows = (tenant: Tenant, recipient: string, count: number) =>
  until(async () => {
    const { body } = await tenant.withKey('GET', `/notify/inapp/${recipient}`);
    return body.notifications.length === count ? body : null;
  });

describe('an inbox', () => {
  it('of . or .. that was sent to before is there for clients that keep dots', async () => {
    const tenant = await app.tenant('inbox-dots');
    const port = Number(new URL(app.url).port);
    const answers = async (request: string, body: string, header: string) => {
      const headers = [header, 'host: herald', 'content-type: application/json', `content-length: ${body.length}`];
      return (await rawRequest(port, [`${request} HTTP/1.1`, ...headers, '', body].join('\r\n'))).statuses;
    };
    const key = `x-api-key: ${tenant.apiKey}`;
    expect(await answers('GET /api/v1/notify/inapp/..', '', key)).toEqual([200]);
    expect(await answers('POST /api/v1/notify/inapp/%2E/read', '{}', key)).toEqual([200]);
    expect(await answers('POST /api/v1/notify/inapp/./token', '', key)).toEqual([200]);
    const bearer = `authorization: Bearer ${tenant.token}`;
    expect(await answers('DELETE /api/v1/recipients/IN_APP/%2e%2E', '', bearer)).toEqual([202]);
  });

  it('shows items newest first, pages, and counts what is unread', async () => {
    const tenant = await app.tenant('inbox-1');
    expect((await tenant.withKey('GET', '/notify/inapp/ada')).body).toEqual({
      notifications: [],
      unreadCount: 0,
      nextCursor: null,
    });
    const ids: string[] = [];
    for (const subject of ['one', undefined, 'three'])
      ids.push((await tenant.notify({ ...to('ada', subject), data: { a: 1 } })).body.notificationId);
    const { notifications, unreadCount } = await shows(tenant, 'ada', 3);
    expect(unreadCount).toBe(3);
    expect(notifications.map((item: { notificationId: string }) => item.notificationId)).toEqual(ids.toReversed());
    expect(notifications[1]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      notificationId: ids[1],
      tenantId: tenant.id,
      recipientId: 'ada',
      title: null,
      body: 'World',
      read: false,
      createdAt: expect.stringMatching(/Z$/),
      readAt: null,
      data: { a: 1 },
    });
    const first = await tenant.withKey('GET', '/notify/inapp/ada?limit=2');
    const rest = await tenant.withKey('GET', `/notify/inapp/ada?limit=2&cursor=${first.body.nextCursor}`);
    expect([...first.body.notifications, ...rest.body.notifications]).toEqual(notifications);
    expect((await tenant.withKey('GET', `/notify/inapp/bob?cursor=${first.body.nextCursor}`)).status).toBe(400);
    expect((await tenant.withKey('GET', '/notify/inapp/ada?limit=101')).status).toBe(400);
    expect((await tenant.withKey('GET', '/notify/inapp/ada?unknown=1')).status).toBe(400);
    expect((await tenant.withKey('GET', '/notify/inapp/a%00b')).status).toBe(400);
    expect((await tenant.withKey('GET', '/notify/inapp/%E0%A4%A')).status).toBe(400);
  });

  it("is read as a whole or by ids, and a GET that follows sees it; another tenant's stays", async () => {
    const [tenant, other] = [await app.tenant('inbox-2'), await app.tenant('inbox-3')];
    for (let i = 0; i < 3; i++) await tenant.notify(to('ada/b c'));
    await other.notify(to('ada/b c'));
    const path = encodeURIComponent('ada/b c');
    const { notifications } = await shows(tenant, path, 3);
    await shows(other, path, 1);
    const [{ id }] = notifications;
    const byId = await tenant.withKey('POST', `/notify/inapp/${path}/read`, {
      ids: [id, '00000000-0000-7000-8000-000000000000'],
    });
    expect([byId.status, byId.body]).toEqual([200, { success: true, updated: 1 }]);
    expect(byId.headers.get('x-event-position')).toMatch(/^notifications\.inbox:/);
    const unread = await tenant.withKey('GET', `/notify/inapp/${path}?unread=true`);
    expect([unread.body.notifications.length, unread.body.unreadCount]).toEqual([2, 2]);
    const all = await tenant.withKey('POST', `/notify/inapp/${path}/read`);
    expect(all.body).toEqual({ success: true, updated: 2 });
    const after = await tenant.withKey('GET', `/notify/inapp/${path}`);
    expect(after.body.unreadCount).toBe(0);
    for (const item of after.body.notifications)
      expect(item).toMatchObject({ read: true, readAt: expect.stringMatching(/Z$/) });
    expect((await tenant.withKey('POST', `/notify/inapp/${path}/read`)).body).toEqual({ success: true, updated: 0 });
    expect((await other.withKey('GET', `/notify/inapp/${path}`)).body.unreadCount).toBe(1);
    for (const [sent, named] of [
      [{ ids: ['x'] }, 'ids.0'],
      [{ ids: [] }, 'ids'],
      [{ ids: 'x' }, 'ids'],
      [{ id: 'x' }, 'id'],
    ] as const) {
      const { status, body } = await tenant.withKey('POST', `/notify/inapp/${path}/read`, sent);
      expect([status, body.details[0].path]).toEqual([400, named]);
    }
  });
});

describe("an inbox's stream", () => {
  it('tells what comes from now on, items and reads, to its recipient alone', async () => {
    const [tenant, other] = [await app.tenant('stream-1'), await app.tenant('stream-2')];
    await tenant.notify(to('ada', 'before'));
    await shows(tenant, 'ada', 1);
    const [mine, theirs] = [await stream(tenant, 'ada'), await stream(other, 'ada')];
    expect(mine.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await tenant.notify(to('bob'));
    const { body } = await tenant.notify(to('ada', 'after'));
    await mine.atLeast(1);
    expect(mine.events[0]).toMatchObject({
      event: 'notification',
      data: { notificationId: body.notificationId, title: 'after', read: false },
    });
    await tenant.withKey('POST', '/notify/inapp/ada/read');
    await mine.atLeast(2);
    const { data } = mine.events[1] ?? {};
    expect(mine.events[1]).toMatchObject({
      event: 'read',
      data: { ids: expect.arrayContaining([mine.events[0]?.data.id]), readAt: expect.stringMatching(/Z$/) },
    });
    expect(data.ids).toHaveLength(2);
    expect(mine.events).toHaveLength(2);
    expect(theirs.events).toHaveLength(0);
  });

  it('goes on after Last-Event-ID without gap or repeat, wherever it was cut', async () => {
    const tenant = await app.tenant('stream-3');
    const first = await stream(tenant, 'ada');
    const sent: string[] = [];
    for (let i = 0; i < 12; i++) sent.push((await tenant.notify(to('ada', `n${i}`))).body.notificationId);
    await first.atLeast(12);
    expect(new Set(first.events.map(({ data }) => data.notificationId))).toEqual(new Set(sent));
    for (const cut of [0, 5, 11]) {
      const resumed = await stream(tenant, 'ada', { 'last-event-id': first.events[cut]?.id ?? '' });
      const count = first.events.length;
      const { body } = await tenant.notify(to('ada', 'next'));
      await first.atLeast(count + 1);
      await resumed.atLeast(count - cut);
      const told = resumed.events.map(({ data }) => data.notificationId);
      expect(told).toEqual(first.events.slice(cut + 1).map(({ data }) => data.notificationId));
      expect(told.at(-1)).toBe(body.notificationId);
      await resumed.close();
    }
  });

  it('begins with an id, with or without Last-Event-ID, so that one cut before its first item goes on from there', async () => {
    const tenant = await app.tenant('stream-6');
    await tenant.notify(to('ada', 'before'));
    await shows(tenant, 'ada', 1);
    const first = await stream(tenant, 'ada');
    await until(() => first.connected.length === 1);
    expect(first.connected[0]).toEqual({ event: 'connected', id: expect.stringMatching(/^\d+\.-1$/), data: {} });
    await first.close();
    const { body } = await tenant.notify(to('ada', 'while it was cut'));
    const resumed = await stream(tenant, 'ada', { 'last-event-id': first.lastEventId() ?? '' });
    await resumed.atLeast(1);
    expect(resumed.connected).toEqual(first.connected);
    expect(resumed.events.map(({ data }) => data.notificationId)).toEqual([body.notificationId]);
  });

  it('refuses a malformed Last-Event-ID and an unknown key', async () => {
    const tenant = await app.tenant('stream-4');
    expect((await stream(tenant, 'ada', { 'last-event-id': 'x' })).status).toBe(400);
    expect((await stream(tenant, 'ada', { 'x-api-key': 'nk_wrong' })).status).toBe(401);
  });

  it('is one of so many that a tenant may have; one that ends makes room', async () => {
    const tenant = await app.tenant('stream-5');
    const readers = [await stream(tenant, 'a'), await stream(tenant, 'b'), await stream(tenant, 'c')];
    expect(readers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await stream(tenant, 'd')).status).toBe(429);
    await readers[0]?.close();
    await until(async () => {
      const again = await stream(tenant, 'd');
      return again.status === 200;
    });
  });
});

describe("the dashboard's stream", () => {
  it('begins with who it is for, then tells each change once, never backwards, and no more than a GET knows', async () => {
    const [tenant, other] = [await app.tenant('dash-1'), await app.tenant('dash-2')];
    const reader = await dashboardStream(tenant);
    await reader.atLeast(1);
    expect(reader.events[0]).toEqual({
      event: null,
      id: expect.any(String),
      data: { event: 'connected', tenantId: tenant.id },
    });
    await other.notify(to('ada'));
    const { body } = await tenant.notify(to('ada'));
    const later = await tenant.notify({ ...to('ada'), sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    await reader.atLeast(4);
    const shown = await tenant.dashboard('GET', `/notifications/${body.notificationId}`);
    expect(shown.body.notification.status).toBe('DELIVERED');
    await until(
      async () =>
        (await tenant.dashboard('GET', `/notifications/${later.body.notificationId}`)).body.notification?.status ===
        'SCHEDULED',
    );
    await tenant.dashboard('POST', `/notifications/${later.body.notificationId}/cancel`);
    await reader.atLeast(5);
    const of = (id: string) =>
      reader.events.filter(({ data }) => data.notificationId === id).map(({ data }) => data.status);
    expect(of(body.notificationId)).toEqual(['QUEUED', 'DELIVERED']);
    expect(of(later.body.notificationId)).toEqual(['SCHEDULED', 'CANCELLED']);
    expect(reader.events).toHaveLength(5);
    expect(reader.events[1]?.data).toEqual({
      notificationId: expect.any(String),
      status: expect.any(String),
      channel: 'IN_APP',
      recipient: 'ada',
      error: null,
      timestamp: expect.stringMatching(/Z$/),
    });
  });
});

describe('a service that stops', () => {
  it('ends its streams and opens no more', async () => {
    const stopping = await startApp({ options: { streams: { heartbeatMs: 20 } } });
    const tenant = await stopping.tenant('last');
    const path = `${stopping.url}/api/v1/notify/inapp/ada/stream`;
    const reader = await readEvents(path, { 'x-api-key': tenant.apiKey });
    await until(() => reader.comments() >= 2, { what: 'heartbeats' });
    stopping.beginClosing();
    await until(() => reader.hasEnded());
    const late = await readEvents(path, { 'x-api-key': tenant.apiKey });
    expect(late.status).toBe(503);
    await late.close();
    await stopping.close();
  });

  it('ends a stream whose key was taken away', async () => {
    const watching = await startApp({ options: { streams: { checkEveryMs: 20 } } });
    const tenant = await watching.tenant('last');
    const reader = await readEvents(`${watching.url}/api/v1/notify/inapp/ada/stream`, { 'x-api-key': tenant.apiKey });
    await tenant.dashboard('POST', '/auth/regenerate-key');
    await until(() => reader.hasEnded());
    await watching.close();
  });
});
