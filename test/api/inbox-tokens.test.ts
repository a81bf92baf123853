// A recipient's token in a browser: it opens that recipient's inbox and nothing else, as long as it and its key hold.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Handlers } from '../../src/api/handlers/index.ts';
import { routesOf } from '../../src/api/routes.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { readEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const origin = 'https://shop.test';
let app: App;
let tenant: Tenant;

beforeAll(async () => {
  app = await startApp({ options: { corsOrigins: [origin], streams: { checkEveryMs: 50 } } });
  tenant = await app.tenant('shop');
});

afterAll(() => app.close());

const inbox = (recipient: string) => `/api/v1/notify/inapp/${encodeURIComponent(recipient)}`;

async function tokenFor(recipient: string, of = tenant, body?: unknown): Promise<string> {
  const reply = await of.withKey('POST', `/notify/inapp/${encodeURIComponent(recipient)}/token`, body);
  expect(reply.status).toBe(200);
  return reply.body.token;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function send(recipient: string, of = tenant): Promise<void> {
  expect((await of.notify({ channel: 'IN_APP', recipient, subject: 'Hello', body: 'World' })).status).toBe(202);
}

const refused = (status: number, error: RegExp) => ({ status, body: { error: expect.stringMatching(error) } });

describe('a token', () => {
  it('lists, marks and streams the inbox of its recipient', async () => {
    const token = await tokenFor('ada');
    const live = await readEvents(`${app.url}${inbox('ada')}/stream?token=${token}`, {});
    const byHeader = await readEvents(`${app.url}${inbox('ada')}/stream`, bearer(token));
    await send('ada');
    await live.atLeast(1);
    await byHeader.atLeast(1);
    const { body } = await app.call('GET', inbox('ada'), bearer(token));
    expect(body).toMatchObject({ unreadCount: 1, notifications: [{ title: 'Hello' }] });
    expect(live.events.map(({ data }) => data)).toEqual(body.notifications);
    const read = await app.call('POST', `${inbox('ada')}/read`, bearer(token), { ids: [body.notifications[0].id] });
    expect(read).toMatchObject({ status: 200, body: { updated: 1 } });
    await live.close();
    await byHeader.close();
  });

  it('holds for an hour unless it is asked for less or more, a day at most', async () => {
    for (const [sent, seconds] of [
      [undefined, 3600],
      [{ expiresInSeconds: 1 }, 1],
      [{ expiresInSeconds: 86_400 }, 86_400],
    ] as const) {
      const before = Date.now();
      const { body } = await tenant.withKey('POST', '/notify/inapp/ada/token', sent);
      const lasts = Date.parse(body.expiresAt) - before;
      expect(lasts).toBeGreaterThan((seconds - 1) * 1000);
      expect(lasts).toBeLessThan((seconds + 10) * 1000);
    }
    for (const expiresInSeconds of [0, 86_401, 1.5, '60', null])
      expect(await tenant.withKey('POST', '/notify/inapp/ada/token', { expiresInSeconds })).toMatchObject(
        refused(400, /^expiresInSeconds: must be/),
      );
    expect(await tenant.withKey('POST', `/notify/inapp/${'x'.repeat(257)}/token`)).toMatchObject(
      refused(400, /^userId/),
    );
  });

  it('is 403 at every other recipient, whatever its name looks like', async () => {
    const token = await tokenFor('ada');
    for (const other of ['bob', 'Ada', 'ada ', 'ada/..', 'ad%61', 'ädä'])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/read'],
        ['GET', '/stream'],
      ] as const)
        expect(await app.call(method, inbox(other) + path, bearer(token))).toMatchObject(
          refused(403, /another recipient/),
        );
    const strange = 'a/b ?&ä%';
    expect((await app.call('GET', inbox(strange), bearer(await tokenFor(strange)))).status).toBe(200);
  });

  it('sees nothing of a recipient of the same name at another tenant', async () => {
    const other = await app.tenant('other shop');
    await send('eve', other);
    await until(async () => (await other.withKey('GET', '/notify/inapp/eve')).body.unreadCount === 1);
    const { body } = await app.call('GET', inbox('eve'), bearer(await tokenFor('eve')));
    expect(body).toEqual({ notifications: [], unreadCount: 0, nextCursor: null });
  });

  it('is 401 at every other route, as a bearer token, as a key and as ?token=', async () => {
    const token = await tokenFor('ada');
    const own = new Set(['GET /notify/inapp/:userId', 'POST /notify/inapp/:userId/read']);
    const others = routesOf(anyHandlers()).filter(
      ({ method, path, auth }) => auth !== 'none' && !own.has(`${method} ${path}`),
    );
    expect(others.length).toBeGreaterThan(35);
    const stream = '/notify/inapp/:userId/stream';
    for (const { method, path } of [{ method: 'POST', path: '/notify' }, ...others]) {
      const url = `/api/v1${path.replace(':userId', 'ada').replaceAll(/:\w+/g, 'x')}`;
      expect([path, (await app.call(method, url, { 'x-api-key': token })).status]).toEqual([path, 401]);
      if (path === stream) continue;
      expect([path, (await app.call(method, url, bearer(token))).status]).toEqual([path, 401]);
      expect([path, (await app.call(method, `${url}?token=${token}`, {})).status]).toEqual([path, 401]);
    }
    for (const { method, path } of [
      { method: 'GET', path: '' },
      { method: 'POST', path: '/read' },
    ])
      expect((await app.call(method, `${inbox('ada')}${path}?token=${token}`, {})).status).toBe(401);
  });

  it('ends by its time, and its streams with it', async () => {
    const token = await tokenFor('ada', tenant, { expiresInSeconds: 2 });
    const live = await readEvents(`${app.url}${inbox('ada')}/stream?token=${token}`, {});
    expect(live.status).toBe(200);
    await until(() => live.hasEnded(), { what: 'the end of the stream' });
    expect(await app.call('GET', inbox('ada'), bearer(token))).toMatchObject(refused(401, /has ended/));
  });

  it('ends with the key that it was made with, and its streams with it', async () => {
    const own = await app.tenant('key-ends');
    const made = await own.dashboard('POST', '/keys', { name: 'inboxes', scopes: ['inbox'] });
    const withKey = (path: string) => app.call('POST', `/api/v1${path}`, { 'x-api-key': made.body.key });
    const { token } = (await withKey('/notify/inapp/ada/token')).body;
    const byMain = await tokenFor('ada', own);
    const live = await readEvents(`${app.url}${inbox('ada')}/stream?token=${token}`, {});
    expect((await own.dashboard('DELETE', `/keys/${made.body.id}`)).status).toBe(200);
    expect(await app.call('GET', inbox('ada'), bearer(token))).toMatchObject(refused(401, /has ended/));
    await until(() => live.hasEnded(), { what: 'the end of the stream' });
    expect((await app.call('GET', inbox('ada'), bearer(byMain))).status).toBe(200);
    expect((await own.dashboard('POST', '/auth/regenerate-key', { graceSeconds: 60 })).status).toBe(200);
    expect((await app.call('GET', inbox('ada'), bearer(byMain))).status).toBe(200);
  });

  it('is made by a key of the scope inbox alone', async () => {
    const { body } = await tenant.dashboard('POST', '/keys', { name: 'reader', scopes: ['read', 'notify'] });
    const headers = { 'x-api-key': body.key };
    expect(await app.call('POST', `${inbox('ada')}/token`, headers)).toMatchObject(refused(403, /scope/));
    expect((await app.call('POST', `${inbox('ada')}/token`, bearer(tenant.token))).status).toBe(401);
  });

  it('leaves other recipients and the backend their part of the limits', async () => {
    const [token, others] = [await tokenFor('greedy'), await tokenFor('modest')];
    const statuses = await Promise.all(
      Array.from(
        { length: 110 },
        async () => (await app.call('POST', `${inbox('greedy')}/read`, bearer(token))).status,
      ),
    );
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect((await app.call('GET', inbox('greedy'), bearer(token))).headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await app.call('GET', inbox('modest'), bearer(others))).status).toBe(200);
    expect((await tenant.withKey('GET', '/notify/inapp/greedy')).status).toBe(200);
  });

  it('is in no line of the log', async () => {
    const token = await tokenFor('ada');
    const live = await readEvents(`${app.url}${inbox('ada')}/stream?token=${token}`, {});
    await live.close();
    await app.call('GET', `${inbox('bob')}/stream?token=${token}`, {});
    await app.call('GET', `/api/v1/nowhere?token=${token}`, {});
    await until(() => app.lines.some((line) => JSON.stringify(line).includes('/stream')));
    for (const line of app.lines) expect(JSON.stringify(line)).not.toContain(token.slice(-40));
  });
});

describe('a page of another origin', () => {
  it('may call the three routes where CORS_ORIGINS names it, its refusals included', async () => {
    const token = await tokenFor('ada');
    for (const [path, method] of [
      ['', 'GET'],
      ['/read', 'POST'],
      ['/stream', 'GET'],
    ] as const) {
      const preflight = await app.call('OPTIONS', inbox('ada') + path, {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,last-event-id',
      });
      expect([path, preflight.status]).toEqual([path, 204]);
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
      expect(preflight.headers.get('access-control-allow-methods')).toContain(method);
      expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization.+last-event-id/);
    }
    for (const headers of [bearer(token), bearer('none')])
      expect(
        (await app.call('GET', inbox('ada'), { ...headers, origin })).headers.get('access-control-allow-origin'),
      ).toBe(origin);
  });

  it('may not, where it is not named, and never makes a token', async () => {
    const elsewhere = { origin: 'https://elsewhere.test' };
    const answer = await app.call('GET', inbox('ada'), { ...bearer(await tokenFor('ada')), ...elsewhere });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    const make = await app.call('OPTIONS', `${inbox('ada')}/token`, {
      origin,
      'access-control-request-method': 'POST',
    });
    expect(make.headers.get('access-control-allow-origin')).toBeNull();
  });
});

/** The table of routes needs handlers; here only its rows are read. */
function anyHandlers(): Handlers {
  const any: object = new Proxy({}, { get: () => any });
  return any as Handlers;
}
