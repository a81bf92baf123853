// What failed, by whom and of what: the dashboard's failures, the list's filters by outcome, and sending again by them.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let sink: HttpSink;
/** By the path of the request; what isn't here is 200. */
const statuses = new Map<string, number>();

beforeAll(async () => {
  sink = await startHttpSink({
    respond: (request, response) => {
      response.writeHead(statuses.get(request.path) ?? 200);
      response.end();
    },
  });
  app = await startApp();
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

const send = async (tenant: Tenant, path: string, wanted: string): Promise<string> => {
  const { body } = await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}${path}`, body: 'b' });
  await reaches(tenant, body.notificationId, wanted);
  return body.notificationId;
};

const reaches = (tenant: Tenant, id: string, wanted: string) =>
  until(
    async () => {
      const { body } = await tenant.dashboard('GET', `/notifications/${id}`);
      return body.notification?.status === wanted ? body.notification : null;
    },
    { what: `${id} to be ${wanted}` },
  );

const idsOf = async (tenant: Tenant, query: string): Promise<string[]> => {
  const { status, body } = await tenant.dashboard('GET', `/notifications?${query}`);
  expect({ query, status }).toEqual({ query, status: 200 });
  expect(body.pagination).toMatchObject({ total: body.data.length, totalIsExact: true });
  return body.data.map(({ id }: { id: string }) => id);
};

const minuteAround = () => {
  const from = new Date(Date.now() - 60_000).toISOString();
  const to = new Date(Date.now() + 60_000).toISOString();
  return `failedFrom=${from}&failedTo=${to}`;
};

describe('what failed', () => {
  it('is counted by class, provider and code until it is sent again, and found by the same', async () => {
    const tenant = await app.tenant('failing');
    statuses.set('/gone', 410);
    statuses.set('/locked', 401);
    const gone = [await send(tenant, '/gone', 'FAILED'), await send(tenant, '/gone', 'FAILED')];
    const locked = await send(tenant, '/locked', 'FAILED');
    const delivered = await send(tenant, '/fine', 'DELIVERED');

    const { status, body } = await tenant.dashboard('GET', '/dashboard/failures');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      total: 3,
      causes: [
        { class: 'recipient', provider: 'custom', code: '410', count: 2, examples: gone.toReversed() },
        { class: 'credentials', provider: 'custom', code: '401', count: 1, examples: [locked] },
      ],
    });
    const records = await Promise.all(gone.map((id) => reaches(tenant, id, 'FAILED')));
    expect(body.causes[0]).toMatchObject({ firstAt: records[0].failedAt, lastAt: records[1].failedAt });
    expect(body.series.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(3);
    for (const [query, total] of [
      ['channel=WEBHOOK&by=hour', 3],
      ['channel=EMAIL', 0],
      ['provider=custom', 3],
      ['provider=smtp', 0],
      [`from=${new Date(Date.now() + 3_600_000).toISOString()}`, 0],
      [`to=${new Date(Date.now() + 3_600_000).toISOString()}`, 3],
    ] as const)
      expect({ query, ...(await tenant.dashboard('GET', `/dashboard/failures?${query}`)).body }).toMatchObject({
        query,
        total,
      });

    expect(await idsOf(tenant, 'errorClass=recipient')).toEqual(gone.toReversed());
    expect(await idsOf(tenant, 'errorCode=401')).toEqual([locked]);
    expect(await idsOf(tenant, `${minuteAround()}&provider=custom`)).toEqual([locked, ...gone.toReversed()]);
    expect(await idsOf(tenant, `${minuteAround()}&errorCode=410&from=2026-01-01T00:00:00Z`)).toEqual(gone.toReversed());
    expect(await idsOf(tenant, `failedTo=2026-01-01T00:00:00Z`)).toEqual([]);
    expect(await idsOf(tenant, 'provider=custom&status=DELIVERED')).toEqual([delivered]);
    expect(await idsOf(tenant, 'provider=smtp')).toEqual([]);

    statuses.delete('/gone');
    const [from, to] = minuteAround()
      .split('&')
      .map((pair) => pair.split('=')[1]);
    const filter = { provider: 'custom', errorCode: '410', failedFrom: from, failedTo: to };
    const job = await tenant.dashboard('POST', '/notifications/retry', { filter });
    expect(job).toMatchObject({ status: 202, body: { matching: 2, matchingIsExact: true } });
    for (const id of gone) await reaches(tenant, id, 'DELIVERED');
    const after = await tenant.dashboard('GET', '/dashboard/failures');
    expect(after.body).toMatchObject({ total: 1, causes: [{ code: '401' }] });
    expect(await idsOf(tenant, minuteAround())).toEqual([locked]);
  });

  it('goes on page by page, the newest failure first', async () => {
    const tenant = await app.tenant('many failing');
    statuses.set('/pages', 410);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await send(tenant, '/pages', 'FAILED'));
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await tenant.dashboard('GET', `/notifications?limit=2&${minuteAround()}${cursor}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.pagination.nextCursor === null ? '' : `&cursor=${body.pagination.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(ids.toReversed());
  });

  it.each([
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z&by=hour',
    'by=minute',
    'priority=HIGH',
    'range=7d',
  ])('is not told for %s', async (query) => {
    const tenant = await app.tenant('asking wrongly');
    expect((await tenant.dashboard('GET', `/dashboard/failures?${query}`)).status).toBe(400);
  });
});

describe('the figures', () => {
  it('are those of a channel, a priority and a provider, by the hour for 31 days', async () => {
    const tenant = await app.tenant('narrow');
    await send(tenant, '/fine', 'DELIVERED');
    const inApp = { channel: 'IN_APP', recipient: 'Ada@Example.com', body: 'b', priority: 'HIGH' };
    const { body: sent } = await tenant.notify(inApp);
    await reaches(tenant, sent.notificationId, 'DELIVERED');
    const stats = async (query: string) => (await tenant.dashboard('GET', `/dashboard/stats?${query}`)).body;
    for (const query of ['channel=IN_APP', 'priority=HIGH', 'provider=inbox']) {
      const figures = await stats(`range=30d&by=hour&${query}`);
      expect(figures).toMatchObject({ total: 1, channelCounts: { IN_APP: 1, WEBHOOK: 0 }, successRate: 100 });
      expect(figures.latency.p99).not.toBeNull();
      // One more than 30 days have, but in the last minute of an hour: the range ends with the minute of now.
      const { length } = figures.series;
      expect([720, 721]).toContain(length);
      const atOf = (point: number) => Date.parse(figures.series.at(point).at);
      expect(atOf(-1) - atOf(0)).toBe((length - 1) * 3_600_000);
      expect(figures.series.at(-1)).toMatchObject({ requested: 1, delivered: 1, failed: 0 });
    }
    expect(await stats('range=7d&channel=SMS')).toMatchObject({ total: 0, latency: { p50: null } });
    for (const query of ['range=all&by=hour', 'range=24h&by=minute', 'channel=FAX', 'provider='])
      expect((await tenant.dashboard('GET', `/dashboard/stats?${query}`)).status).toBe(400);
    // As support has it from a person, who writes it otherwise.
    expect(await idsOf(tenant, 'recipient=aDA@example.COM')).toEqual([sent.notificationId]);
  });
});
