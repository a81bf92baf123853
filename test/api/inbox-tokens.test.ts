// A recipient's token in a browser: it opens that recipient's inbox and nothing else, as long as it and its key hold.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

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

  it('opens three operations of its recipient, and is 401 or 403 at whatever else the OpenAPI document names', async () => {
    const token = await tokenFor('ada');
    const operations = operationsOf((await app.call('GET', '/openapi.json', {})).body);
    expect(new Set(operations.map(({ id }) => id)).size).toBeGreaterThan(45);
    const opened = new Set<string>();
    for (const { id, method, pathOf, isPublic } of operations)
      for (const recipient of ['ada', 'bob'])
        for (const [way, headers, query] of waysToShow(token)) {
          const path = pathOf(recipient);
          const status = await statusOf(method, path + query, headers);
          // Whoever calls those shows what lets him in by the address: a token changes nothing.
          if (isPublic) expect([id, way, status]).toEqual([id, way, await statusOf(method, path, {})]);
          else if (status !== 401 && status !== 403) opened.add(`${id} of ${recipient} by ${way}: ${status}`);
        }
    const own = (id: string, way: string) => `${id} of ada by ${way}: 200`;
    expect([...opened].toSorted()).toEqual([
      own('GET /notify/inapp/{userId}', 'header'),
      own('GET /notify/inapp/{userId}/stream', 'header'),
      own('GET /notify/inapp/{userId}/stream', 'query'),
      own('HEAD /notify/inapp/{userId}', 'header'),
      own('HEAD /notify/inapp/{userId}/stream', 'header'),
      own('HEAD /notify/inapp/{userId}/stream', 'query'),
      own('POST /notify/inapp/{userId}/read', 'header'),
    ]);
    expect(new Set(operations.filter(({ isPublic }) => isPublic).map(({ id }) => id))).toEqual(
      new Set(['POST /callbacks/{provider}/{token}']),
    );
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
    expect((await own.dashboard('POST', '/auth/regenerate-key')).status).toBe(200);
    expect(await app.call('GET', inbox('ada'), bearer(byMain))).toMatchObject(refused(401, /has ended/));
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

interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
}

interface Documented {
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
}

/** All of them, by each name of the API, and a HEAD beside each GET: a new route is among them by itself. */
function operationsOf({ servers, paths }: Document) {
  const documented = Object.entries(paths).flatMap(([pattern, methods]) =>
    Object.entries(methods).flatMap(([name, operation]) =>
      (name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()]).map((method) => ({ method, pattern, operation })),
    ),
  );
  return servers.flatMap(({ url }) =>
    documented.map(({ method, pattern, operation }) => ({
      id: `${method} ${pattern}`,
      method,
      isPublic: operation.security.length === 0,
      /** With the document's own examples in place of whatever isn't a recipient. */
      pathOf: (recipient: string) => url + filled(pattern, operation, recipient),
    })),
  );
}

function filled(pattern: string, { parameters = [] }: Documented, recipient: string): string {
  const exampleOf = (name: string) => parameters.find((one) => one.in === 'path' && one.name === name)?.example ?? 'x';
  return pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(name === 'userId' ? recipient : exampleOf(name)),
  );
}

function waysToShow(
  token: string,
): readonly (readonly [way: string, headers: Record<string, string>, query: string])[] {
  return [
    ['header', bearer(token), ''],
    ['query', {}, `?token=${token}`],
    ['key', { 'x-api-key': token }, ''],
  ];
}

/** Of a stream too, which isn't read. */
async function statusOf(method: string, path: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(app.url + path, { method, headers });
  await response.body?.cancel();
  return response.status;
}
