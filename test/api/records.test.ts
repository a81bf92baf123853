// Records, lists, attempts, retry and cancel, figures, and positions.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let sink: HttpSink;
let status = 200;

beforeAll(async () => {
  sink = await startHttpSink({
    respond: (_, response) => {
      response.writeHead(status);
      response.end();
    },
  });
  app = await startApp();
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

const inApp = { channel: 'IN_APP', recipient: 'user-1', subject: 'Hello', body: 'World' };
const webhook = () => ({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'b' });

const reaches = (tenant: Tenant, id: string, wanted: string) =>
  until(
    async () => {
      const { body } = await tenant.dashboard('GET', `/notifications/${id}`);
      return body.notification?.status === wanted ? body.notification : null;
    },
    { what: `${id} to be ${wanted}` },
  );

describe('the list', () => {
  it('is newest first, pages by cursor without gap or repeat, and counts', async () => {
    const tenant = await app.tenant('lister');
    const ids: string[] = [];
    for (let i = 0; i < 5; i++)
      ids.push((await tenant.notify({ ...inApp, priority: i % 2 === 0 ? 'HIGH' : 'BULK' })).body.notificationId);
    for (const id of ids) await reaches(tenant, id, 'DELIVERED');
    const seen: string[] = [];
    let cursor = '';
    do {
      const { status: code, body } = await tenant.dashboard('GET', `/notifications?limit=2${cursor}`);
      expect(code).toBe(200);
      expect(body.pagination).toMatchObject({ limit: 2, total: 5, totalIsExact: true, totalPages: 3 });
      seen.push(...body.data.map((record: { id: string }) => record.id));
      cursor = body.pagination.nextCursor === null ? '' : `&cursor=${body.pagination.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(ids.toReversed());
    const page = await tenant.dashboard('GET', '/notifications?limit=2&page=2');
    expect(page.body.data.map((record: { id: string }) => record.id)).toEqual([ids[2], ids[1]]);
    expect(page.body.pagination.page).toBe(2);
    const high = await tenant.dashboard(
      'GET',
      '/notifications?priority=HIGH&status=DELIVERED&channel=IN_APP&recipient=user-1',
    );
    expect(high.body.data).toHaveLength(3);
    const none = await tenant.dashboard('GET', '/notifications?status=FAILED');
    expect(none.body).toMatchObject({ data: [], pagination: { total: 0, nextCursor: null } });
  });

  it('takes no cursor but its own', async () => {
    const [a, b] = [await app.tenant('cursor-a'), await app.tenant('cursor-b')];
    for (let i = 0; i < 2; i++) await reaches(a, (await a.notify(inApp)).body.notificationId, 'DELIVERED');
    const { body } = await a.dashboard('GET', '/notifications?limit=1');
    const cursor: string = body.pagination.nextCursor;
    expect((await a.dashboard('GET', `/notifications?cursor=${cursor}`)).status).toBe(200);
    const inbox = await a.withKey('GET', '/notify/inapp/user-1?limit=1');
    const swapped = `${cursor.split('.')[0]}.${inbox.body.nextCursor.split('.')[1]}`;
    for (const bad of [swapped, inbox.body.nextCursor, cursor.slice(1), 'x', '.', `${cursor}.x`, 'x'.repeat(5000)]) {
      const refused = await a.dashboard('GET', `/notifications?cursor=${bad}`);
      expect([refused.status, refused.body.details[0].path]).toEqual([400, 'cursor']);
    }
    expect((await b.dashboard('GET', `/notifications?cursor=${cursor}`)).status).toBe(400);
  });

  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=1&limit=2',
    'page=0',
    'page=101&limit=100',
    'status=LOST',
    'q=',
    'q=!',
    'q=a1+b1+c1+d1+e1+f1+g1+h1+i1',
    `q=${'x'.repeat(201)}`,
    'recipientPrefix=',
    'metadata=gold',
    'metadata.=gold',
    'metadata.plan=gold&metadata.plan=free',
    'metadata[plan]=gold&metadata[plan]=free',
    'metadata[plan]=gold&metadata.plan=gold',
    'metadata[]=gold',
    'metadata[plan=gold',
    'constructor=1',
    'from=yesterday',
    'recipient=',
  ])('refuses %s', async (query) => {
    const tenant = await app.tenant('strict');
    const { status: code, body } = await tenant.dashboard('GET', `/notifications?${query}`);
    expect([code, body.code]).toEqual([400, 'BAD_REQUEST']);
    expect(query).toContain(body.details[0].path);
  });
});

describe('a search of the list', () => {
  it('finds what a position names, by text, recipient and metadata, alone and with other filters', async () => {
    const tenant = await app.tenant('searcher');
    const metadata = { plan: 'gold', __proto__x: '1' };
    const first = await tenant.notify({ ...inApp, recipient: 'Ada-1', subject: 'Order 1017', metadata });
    const second = await tenant.notify({ ...inApp, recipient: 'ada-2', body: 'It is about order 1018' });
    const [one, two]: string[] = [first.body.notificationId, second.body.notificationId];
    const ids = async (query: string) => {
      const headers = { 'x-after-position': String(first.headers.get('x-event-position')) };
      await tenant.dashboard('GET', `/notifications?q=order`, undefined, headers);
      headers['x-after-position'] = String(second.headers.get('x-event-position'));
      const { status: code, body } = await tenant.dashboard('GET', `/notifications?${query}`, undefined, headers);
      expect([code, body.pagination?.totalIsExact]).toEqual([200, true]);
      return body.data.map(({ id }: { id: string }) => id);
    };
    expect(await ids('q=ORDER')).toEqual([two, one]);
    expect(await ids('q=order+1017')).toEqual([one]);
    expect(await ids('recipientPrefix=ADA-')).toEqual([two, one]);
    expect(await ids('recipientPrefix=ada-2&q=about')).toEqual([two]);
    expect(await ids('metadata.plan=gold')).toEqual([one]);
    expect(await ids('metadata.plan=gold&metadata.__proto__x=1&recipient=Ada-1&channel=IN_APP')).toEqual([one]);
    expect(await ids('metadata.__proto__=1')).toEqual([]);
    expect(await ids('metadata.plan=free')).toEqual([]);
    // As generated clients write an object in a query.
    expect(await ids('metadata[plan]=gold')).toEqual([one]);
    expect(await ids('metadata%5Bplan%5D=gold&metadata.__proto__x=1')).toEqual([one]);
    expect(await ids('metadata[plan]=free')).toEqual([]);
    expect(await ids('metadata[__proto__]=1')).toEqual([]);
    const paged = await tenant.dashboard('GET', '/notifications?q=order&limit=1');
    expect(paged.body).toMatchObject({ data: [{ id: two }], pagination: { total: 2, totalPages: 2, page: 1 } });
    const cursor: string = paged.body.pagination.nextCursor;
    const next = await tenant.dashboard('GET', `/notifications?q=order&limit=1&cursor=${cursor}`);
    expect(next.body).toMatchObject({ data: [{ id: one }], pagination: { nextCursor: null } });
    const other = await app.tenant('searching-another');
    expect((await other.dashboard('GET', '/notifications?q=order')).body.data).toEqual([]);
    expect((await other.dashboard('GET', `/notifications?q=order&cursor=${cursor}`)).status).toBe(400);
  });
});

describe('a failed notification', () => {
  it('shows its attempts in ascending order, and is delivered when it is sent again', async () => {
    const tenant = await app.tenant('retrier');
    status = 400;
    const { body } = await tenant.notify(webhook());
    const failed = await reaches(tenant, body.notificationId, 'FAILED');
    expect(failed).toMatchObject({
      attemptCount: 1,
      provider: 'custom',
      deliveredAt: null,
      attempts: [{ attemptNumber: 1, status: 'FAILED', errorCode: '400', errorClass: 'recipient', nextRetryAt: null }],
    });
    expect(failed.lastError).toBe(failed.attempts[0].error);
    status = 200;
    const retried = await tenant.dashboard('POST', `/notifications/${body.notificationId}/retry`);
    expect([retried.status, typeof retried.body.message]).toEqual([202, 'string']);
    expect(retried.headers.get('x-event-position')).toMatch(/^notifications\.webhook\.default:/);
    await reaches(tenant, body.notificationId, 'DELIVERED');
    const shown = await tenant.dashboard('GET', `/notifications/${body.notificationId}/attempts`);
    expect(shown.body.attempts).toMatchObject([
      { attemptNumber: 1, status: 'FAILED' },
      { attemptNumber: 2, status: 'DELIVERED', error: null, errorCode: null, errorClass: null },
    ]);
    expect((await tenant.dashboard('POST', `/notifications/${body.notificationId}/retry`)).status).toBe(409);
    expect((await tenant.dashboard('POST', `/notifications/${body.notificationId}/cancel`)).status).toBe(409);
  });
});

describe('a waiting notification', () => {
  it('is cancelled before its time', async () => {
    const tenant = await app.tenant('canceller');
    const { body } = await tenant.notify({ ...inApp, sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    await reaches(tenant, body.notificationId, 'SCHEDULED');
    const {
      status: code,
      body: cancelled,
      headers,
    } = await tenant.dashboard('POST', `/notifications/${body.notificationId}/cancel`);
    expect(code).toBe(200);
    expect(cancelled.notification).toMatchObject({ id: body.notificationId, status: 'CANCELLED' });
    expect(headers.get('x-event-position')).toMatch(/^notifications\.deliveries:/);
    expect((await tenant.dashboard('POST', `/notifications/${body.notificationId}/cancel`)).status).toBe(409);
  });

  it('is cancelled between two attempts', async () => {
    const tenant = await app.tenant('canceller-2');
    status = 500;
    const { body } = await tenant.notify(webhook());
    await until(
      async () =>
        (await tenant.dashboard('GET', `/notifications/${body.notificationId}`)).body.notification?.attemptCount === 2,
    );
    const { status: code, body: cancelled } = await tenant.dashboard(
      'POST',
      `/notifications/${body.notificationId}/cancel`,
    );
    status = 200;
    expect(code).toBe(200);
    expect(cancelled.notification).toMatchObject({ status: 'CANCELLED', attemptCount: 2, nextRetryAt: null });
  });

  it('of another tenant reads as none', async () => {
    const [a, b] = [await app.tenant('canceller-3'), await app.tenant('stranger')];
    const { body } = await a.notify({ ...inApp, sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    await reaches(a, body.notificationId, 'SCHEDULED');
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/attempts'],
      ['POST', '/retry'],
      ['POST', '/cancel'],
    ] as const) {
      expect((await b.dashboard(method, `/notifications/${body.notificationId}${path}`)).status).toBe(404);
      expect((await b.dashboard(method, `/notifications/nonsense${path}`)).status).toBe(404);
    }
  });
});

describe('the figures', () => {
  it('equal what was sent', async () => {
    const tenant = await app.tenant('counter');
    const empty = await tenant.dashboard('GET', '/dashboard/stats?range=all');
    expect(empty.body).toMatchObject({
      total: 0,
      successRate: 100,
      failedRate: 0,
      latency: { p50: null, p95: null, p99: null },
    });
    const ids: string[] = [];
    for (const channel of ['IN_APP', 'IN_APP', 'WEBHOOK'])
      ids.push((await tenant.notify(channel === 'IN_APP' ? inApp : webhook())).body.notificationId);
    for (const id of ids) await reaches(tenant, id, 'DELIVERED');
    for (const query of [
      '',
      '?range=today',
      '?range=24h',
      '?range=7d',
      '?range=30d',
      '?range=all',
      `?from=${new Date(Date.now() - 60_000).toISOString()}`,
    ]) {
      const { status: code, body } = await tenant.dashboard('GET', `/dashboard/stats${query}`);
      expect(code).toBe(200);
      expect(body).toMatchObject({
        total: 3,
        statusCounts: { DELIVERED: 3, FAILED: 0, QUEUED: 0 },
        channelCounts: { IN_APP: 2, WEBHOOK: 1 },
        priorityCounts: { DEFAULT: 3 },
      });
      expect(body.series.reduce((sum: number, point: { requested: number }) => sum + point.requested, 0)).toBe(3);
      expect(body.series[0].at).toMatch(/Z$/);
    }
    for (const query of [
      'range=never',
      'range=7d&from=2026-01-01T00:00:00Z',
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      'days=3',
    ]) {
      expect((await tenant.dashboard('GET', `/dashboard/stats?${query}`)).status).toBe(400);
    }
  });
});

describe('a position', () => {
  it('of a notification makes a list that follows show it', async () => {
    const tenant = await app.tenant('reader');
    for (let i = 0; i < 5; i++) {
      const { body, headers } = await tenant.notify(webhook());
      const after = { 'x-after-position': headers.get('x-event-position') ?? '' };
      const listed = await tenant.dashboard('GET', '/notifications?limit=1', undefined, after);
      expect(listed.body.data[0].id).toBe(body.notificationId);
    }
  });

  it.each([
    'x',
    'notifications.deliveries:1',
    'notifications.deliveries:99:1',
    'notifications.other:1:1',
    'notifications.deliveries:1:-1',
    'notifications.deliveries:1:1e3',
  ])('that is malformed is refused: %s', async (text) => {
    const tenant = await app.tenant('reader');
    const { status: code, body } = await tenant.dashboard('GET', '/notifications', undefined, {
      'x-after-position': text,
    });
    expect([code, body.details[0].path]).toEqual([400, 'x-after-position']);
  });

  it('that is never reached is waited for 2 s, then what there is is answered', async () => {
    const tenant = await app.tenant('reader');
    const before = performance.now();
    const { status: code } = await tenant.dashboard('GET', '/notifications', undefined, {
      'x-after-position': 'notifications.deliveries:1:999999',
    });
    expect(code).toBe(200);
    expect(performance.now() - before).toBeGreaterThan(1900);
  });
});
