// Two tenants: whatever is one's own is, to the other, on every route, exactly what doesn't exist.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Route } from '../../src/api/endpoint.ts';
import { assertNever } from '../../src/domain/assert-never.ts';
import type { Handlers } from '../../src/api/handlers/index.ts';
import { routesOf } from '../../src/api/routes.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { readEvents } from '../support/event-source.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

/** What the owner has; each in a form that nobody has. */
const theirs = new Map<string, string>();
let app: App;
let sink: HttpSink;
let owner: Tenant;
let stranger: Tenant;
/** A third one, whose routes may change what is their own. */
let bystander: Tenant;
/** Of the stranger, for the routes that take a key or a token. */
let readKey: string;

const recipient = 'ada-of-the-owner';
const templateName = 'template-of-the-owner';

beforeAll(async () => {
  sink = await startHttpSink({ respond: (_, response) => response.writeHead(400).end('no') });
  app = await startApp();
  [owner, stranger, bystander] = [await app.tenant('owner'), await app.tenant('stranger'), await app.tenant('third')];
  await fillOwner();
  readKey = (await stranger.dashboard('POST', '/keys', { name: 'reader', scopes: ['read'] })).body.key;
});

afterAll(async () => {
  await app.close();
  await sink.close();
});

async function fillOwner(): Promise<void> {
  const keep = (name: string, value: unknown) => theirs.set(name, String(value));
  keep('tenant', owner.id);
  keep('apiKey', owner.apiKey);
  const inApp = { channel: 'IN_APP', recipient, body: 'of the owner, a word-of-the-owner' };
  for (let i = 0; i < 3; i++) keep('delivered', (await owner.notify(inApp)).body.notificationId);
  keep(
    'failed',
    (await owner.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/owner`, body: 'x' })).body.notificationId,
  );
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await owner.notify({ ...inApp, sendAt, metadata: { order: 'order-of-the-owner' } });
  keep('scheduled', scheduled.body.notificationId);
  keep('position', scheduled.headers.get('x-event-position'));
  for (const [name, status] of [
    ['delivered', 'DELIVERED'],
    ['failed', 'FAILED'],
    ['scheduled', 'SCHEDULED'],
  ])
    await until(
      async () => {
        const { body } = await owner.dashboard('GET', `/notifications/${theirs.get(name ?? '')}`);
        return body.notification?.status === status;
      },
      { what: String(status) },
    );
  const template = { name: templateName, channel: 'SMS', subject: null, body: 'Hello {{ name }}' };
  keep('template', (await owner.dashboard('POST', '/templates', template)).body.id);
  keep('key', (await owner.dashboard('POST', '/keys', { name: 'till', scopes: ['read'] })).body.id);
  const config = { from: '+15005550006', accountSid: `AC${'0'.repeat(32)}` };
  const provider = { channel: 'SMS', provider: 'twilio', apiKey: 'twilio-key-of-the-owner', config, enabled: true };
  expect((await owner.dashboard('POST', '/providers', provider)).status).toBe(200);
  const [saved] = (await owner.dashboard('GET', '/providers')).body;
  keep('callback', saved.callbackUrl.split('/').at(-1));
  const suppress = (suppressed: string) =>
    owner.dashboard('POST', '/suppressions', { channel: 'SMS', recipient: suppressed });
  keep('suppression', (await suppress('+15005550010')).body.id);
  expect((await suppress('+15005550011')).status).toBe(201);
  keep('suppressionCursor', (await owner.dashboard('GET', '/suppressions?limit=1')).body.nextCursor);
  const batch = { notifications: [{ channel: 'IN_APP', recipient: 'of-the-batch', body: 'x' }] };
  keep('batch', (await owner.withKey('POST', '/notify/batch', batch)).body.batchId);
  keep('job', (await owner.withKey('POST', `/notify/batch/${theirs.get('batch') ?? ''}/cancel`)).body.jobId);
  keep('logCursor', (await owner.dashboard('GET', '/notifications?limit=1')).body.pagination.nextCursor);
  keep('eventsCursor', (await owner.dashboard('GET', '/events?limit=1')).body.nextCursor);
  keep('inboxCursor', (await owner.withKey('GET', `/notify/inapp/${recipient}?limit=1`)).body.nextCursor);
  const items = (await owner.withKey('GET', `/notify/inapp/${recipient}`)).body.notifications;
  keep('item', items[0].id);
  await until(async () => (await owner.dashboard('GET', '/notifications?q=word-of-the-owner')).body.data?.length > 0, {
    what: 'the search to know it',
  });
  const live = await readEvents(`${app.url}/api/v1/dashboard/stream?token=${owner.token}`, {});
  await live.atLeast(1);
  keep('dashboardEvent', live.events[0]?.id);
  await live.close();
}

const their = (name: string): string => theirs.get(name) ?? '';

/** Of the same form, and nobody's: the last letter or digit is another. */
const nobodys = (text: string): string =>
  text.replace(/[a-zA-Z0-9](?=[^a-zA-Z0-9]*$)/, (last) => (last === '0' ? '1' : '0'));

interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** The same request, with what is the owner's and with what is nobody's. */
interface Compared {
  readonly of: (id: (name: string) => string) => Asked;
  readonly status: number;
}

/** Names nothing of anyone's: what it answers holds nothing of the owner's. */
interface Unnamed {
  readonly unnamed: Asked;
  readonly status: number;
  readonly says?: Readonly<Record<string, unknown>>;
  /** Changes what is the caller's own. */
  readonly by?: () => Tenant;
}

type Case = Compared | Unnamed;

const notification = (path: (id: string) => string): readonly Case[] =>
  ['delivered', 'failed', 'scheduled'].map((name) => ({ of: (id) => ({ path: path(id(name)) }), status: 404 }));

const templateBody = { name: 'renamed', channel: 'SMS', subject: null, body: 'x' };

/** Every route has its cases: one that has none fails the test. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  'POST /notify': [
    {
      of: (id) => ({ path: '/notify', body: { channel: 'SMS', recipient: '+15005550009', template: id('name') } }),
      status: 400,
    },
    // Only the owner has a provider for it.
    { unnamed: { path: '/notify', body: { channel: 'SMS', recipient: '+15005550009', body: 'x' } }, status: 422 },
  ],
  'GET /notify/:id': [
    ...notification((id) => `/notify/${id}`),
    {
      of: (id) => ({ path: `/notify/${id('delivered')}`, headers: { 'x-after-position': id('position') } }),
      status: 404,
    },
  ],
  'POST /notify/batch': [
    {
      of: (id) => ({
        path: '/notify/batch',
        body: { notifications: [{ channel: 'SMS', recipient: '+15005550009', template: id('name') }, {}] },
      }),
      status: 202,
    },
  ],
  'GET /notify/batch/:id': [{ of: (id) => ({ path: `/notify/batch/${id('batch')}` }), status: 404 }],
  'POST /notify/batch/:id/cancel': [{ of: (id) => ({ path: `/notify/batch/${id('batch')}/cancel` }), status: 404 }],
  'POST /notify/batch/:id/retry': [{ of: (id) => ({ path: `/notify/batch/${id('batch')}/retry` }), status: 404 }],
  'GET /jobs/:id': [{ of: (id) => ({ path: `/jobs/${id('job')}` }), status: 404 }],
  'DELETE /jobs/:id': [{ of: (id) => ({ path: `/jobs/${id('job')}` }), status: 404 }],
  'GET /notify/inapp/:userId': [
    { of: (id) => ({ path: `/notify/inapp/${id('recipient')}` }), status: 200 },
    { of: (id) => ({ path: `/notify/inapp/${recipient}?cursor=${id('inboxCursor')}` }), status: 400 },
  ],
  'POST /notify/inapp/:userId/read': [
    { of: (id) => ({ path: `/notify/inapp/${id('recipient')}/read` }), status: 200 },
    { of: (id) => ({ path: `/notify/inapp/${recipient}/read`, body: { ids: [id('item')] } }), status: 200 },
  ],
  // It says whose it is; test/api/inbox-tokens.test.ts tries what it opens.
  'POST /notify/inapp/:userId/token': [],
  'GET /notify/inapp/:userId/stream': [],
  'GET /dashboard/stream': [],
  'POST /auth/provision-tenant': [{ unnamed: { path: '/auth/provision-tenant' }, status: 200 }],
  'POST /auth/regenerate-key': [{ unnamed: { path: '/auth/regenerate-key' }, status: 200, by: () => bystander }],
  'GET /tenant': [{ unnamed: { path: '/tenant' }, status: 200 }],
  'GET /refusals': [{ unnamed: { path: '/refusals' }, status: 200 }],
  'GET /keys': [{ unnamed: { path: '/keys' }, status: 200 }],
  'POST /keys': [{ unnamed: { path: '/keys', body: { name: 'till', scopes: ['read'] } }, status: 201 }],
  'DELETE /keys/:id': [{ of: (id) => ({ path: `/keys/${id('key')}` }), status: 404 }],
  'POST /callbacks/:provider/:token': [
    // The owner's token for another of its providers, and one that nobody has.
    { of: (id) => ({ path: `/callbacks/mailgun/${id('callback')}`, body: {} }), status: 404 },
  ],
  'GET /suppressions': [
    { unnamed: { path: '/suppressions' }, status: 200, says: { data: [], nextCursor: null } },
    { of: (id) => ({ path: `/suppressions?cursor=${id('suppressionCursor')}` }), status: 400 },
  ],
  'POST /suppressions': [
    {
      // That it is on the owner's list shows nowhere.
      unnamed: { path: '/suppressions', body: { channel: 'SMS', recipient: '+15005550010' } },
      status: 201,
      by: () => bystander,
    },
  ],
  'DELETE /suppressions/:id': [{ of: (id) => ({ path: `/suppressions/${id('suppression')}` }), status: 404 }],
  'DELETE /recipients/:channel/:recipient': [
    // Nothing of the owner's goes with it, which the last test sees.
    { unnamed: { path: `/recipients/in-app/${recipient}` }, status: 202 },
  ],
  'GET /providers': [{ unnamed: { path: '/providers' }, status: 200 }],
  'POST /providers': [
    {
      unnamed: {
        path: '/providers',
        body: {
          channel: 'SMS',
          provider: 'twilio',
          apiKey: 'twi••••••wner',
          config: { from: '+15005550006', accountSid: `AC${'0'.repeat(32)}` },
          enabled: true,
        },
      },
      status: 400,
    },
  ],
  'GET /providers/catalog': [{ unnamed: { path: '/providers/catalog' }, status: 200 }],
  'POST /providers/:channel/test': [
    { unnamed: { path: '/providers/SMS/test', body: { recipient: '+15005550009' } }, status: 200 },
  ],
  'DELETE /providers/:channel': [{ of: (id) => ({ path: `/providers/${id('channel')}` }), status: 404 }],
  'GET /templates': [{ unnamed: { path: '/templates' }, status: 200 }],
  'POST /templates': [
    {
      unnamed: { path: '/templates', body: { ...templateBody, name: templateName } },
      status: 201,
      by: () => bystander,
    },
  ],
  'PUT /templates/:id': [{ of: (id) => ({ path: `/templates/${id('template')}`, body: templateBody }), status: 404 }],
  'DELETE /templates/:id': [{ of: (id) => ({ path: `/templates/${id('template')}` }), status: 404 }],
  'POST /templates/preview': [
    { unnamed: { path: '/templates/preview', body: { channel: 'SMS', body: 'Hello {{ name }}' } }, status: 200 },
  ],
  'GET /templates/:id/versions': [{ of: (id) => ({ path: `/templates/${id('template')}/versions` }), status: 404 }],
  'GET /templates/:id/versions/:version': [
    { of: (id) => ({ path: `/templates/${id('template')}/versions/1` }), status: 404 },
  ],
  'POST /templates/:id/preview': [
    { of: (id) => ({ path: `/templates/${id('template')}/preview`, body: { data: {} } }), status: 404 },
  ],
  'GET /notifications': [
    { of: (id) => ({ path: `/notifications?cursor=${id('logCursor')}` }), status: 400 },
    { of: (id) => ({ path: `/notifications?recipient=${id('recipient')}` }), status: 200 },
    { of: (id) => ({ path: `/notifications?recipientPrefix=${id('recipient')}` }), status: 200 },
    { of: (id) => ({ path: `/notifications?template=${id('name')}` }), status: 200 },
    { of: (id) => ({ path: `/notifications?metadata.order=${id('order')}` }), status: 200 },
    { of: (id) => ({ path: `/notifications?q=${id('words')}` }), status: 200 },
    { unnamed: { path: '/notifications?page=1' }, status: 200 },
  ],
  'GET /notifications.csv': [
    { of: (id) => ({ path: `/notifications.csv?recipient=${id('recipient')}` }), status: 200 },
    { unnamed: { path: '/notifications.csv' }, status: 200 },
  ],
  'GET /events': [
    { of: (id) => ({ path: `/events?notificationId=${id('delivered')}` }), status: 200 },
    { of: (id) => ({ path: `/events?cursor=${id('eventsCursor')}` }), status: 400 },
    { unnamed: { path: '/events?limit=1000' }, status: 200 },
    { unnamed: { path: '/events', headers: { accept: 'application/x-ndjson' } }, status: 200 },
  ],
  'GET /notifications/:id': notification((id) => `/notifications/${id}`),
  'GET /notifications/:id/attempts': notification((id) => `/notifications/${id}/attempts`),
  'POST /notifications/retry': [
    {
      unnamed: { path: '/notifications/retry', body: { filter: {}, dryRun: true } },
      status: 202,
      says: { matching: 0 },
    },
    {
      of: (id) => ({ path: '/notifications/retry', body: { filter: { batchId: id('batch') }, dryRun: true } }),
      status: 202,
    },
  ],
  'POST /notifications/:id/retry': notification((id) => `/notifications/${id}/retry`),
  'POST /notifications/:id/resend': notification((id) => `/notifications/${id}/resend`),
  'POST /notifications/:id/cancel': notification((id) => `/notifications/${id}/cancel`),
  'GET /dashboard/stats': [{ unnamed: { path: '/dashboard/stats?range=all' }, status: 200, says: { total: 0 } }],
  'GET /dashboard/failures': [{ unnamed: { path: '/dashboard/failures' }, status: 200, says: { total: 0 } }],
};

/** What has no id, by its name in the cases. */
const named: Readonly<Record<string, readonly [string, string]>> = {
  recipient: [recipient, nobodys(recipient)],
  name: [templateName, nobodys(templateName)],
  order: ['order-of-the-owner', nobodys('order-of-the-owner')],
  words: ['word-of-the-owner', 'word-of-the-owne0'],
  channel: ['SMS', 'EMAIL'],
};

const theirOwn = (name: string): string => named[name]?.[0] ?? their(name);
const madeUp = (name: string): string => named[name]?.[1] ?? nobodys(their(name));

type Way = 'main key' | 'read key' | 'token';

/** As every caller may come. */
const waysIn = ({ auth, scopes = [] }: Pick<Route, 'auth' | 'scopes'>): readonly Way[] =>
  auth === 'apiKey' || auth === 'inbox' || auth === 'inboxOrQuery'
    ? ['main key']
    : auth === 'bearerOrKey'
      ? [scopes.includes('read') ? 'read key' : 'main key', 'token']
      : ['token'];

const ask = (tenant: Tenant, way: Way, method: string, { path, body, headers = {} }: Asked) => {
  switch (way) {
    case 'main key':
      return tenant.withKey(method, path, body, headers);
    case 'token':
      return tenant.dashboard(method, path, body, headers);
    case 'read key':
      return tenant.withKey(method, path, body, { ...headers, 'x-api-key': readKey });
    default:
      return assertNever(way);
  }
};

/** Without what differs between any two requests, and with what was asked for taken out. */
function comparable({ status, headers, body }: Reply, asked: readonly string[]): unknown {
  const { requestId: _, ...said } = body;
  const names = [...headers.keys()].filter((name) => name !== 'content-length').toSorted();
  // A batch has an id of its own each time.
  const made = JSON.stringify(said).replaceAll(/batch_[0-9a-z]{26}/g, '<batch>');
  const text = asked.reduce((rest, one) => rest.replaceAll(one, '<asked for>'), made);
  return { status, names, text };
}

/** Values of the owner's that may not turn up anywhere else. */
const telling = () =>
  [...theirs.values(), recipient, 'order-of-the-owner', '-of-the-owner'].filter((value) => !value.includes(':'));

const routes: readonly (Pick<Route, 'method' | 'path' | 'scopes'> & { readonly auth: Route['auth'] })[] = [
  { method: 'POST', path: '/notify', auth: 'apiKey' },
  ...routesOf(anyHandlers()),
];

/** The table of routes needs handlers; here only its rows are read. */
function anyHandlers(): Handlers {
  const any: object = new Proxy({}, { get: () => any });
  return any as Handlers;
}

describe("another tenant's", () => {
  it('every route has its cases here', () => {
    expect(Object.keys(cases).toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    for (const [number, one] of (cases[name] ?? []).entries()) {
      for (const way of waysIn(route)) {
        it(`${name}, case ${number + 1} by ${way}`, async () => {
          if ('unnamed' in one) {
            const reply = await ask(one.by?.() ?? stranger, way, route.method, one.unnamed);
            expect(reply.status).toBe(one.status);
            if (one.says !== undefined) expect(reply.body).toMatchObject(one.says);
            const text = JSON.stringify(reply.body);
            const ownName = route.path === '/templates' && route.method === 'POST';
            for (const value of ownName ? theirs.values() : telling()) expect(text).not.toContain(value);
            return;
          }
          const used: string[] = [];
          const noting = (of: (id: string) => string) => (id: string) => {
            used.push(of(id));
            return of(id);
          };
          const foreign = await ask(stranger, way, route.method, one.of(noting(theirOwn)));
          const unknown = await ask(stranger, way, route.method, one.of(noting(madeUp)));
          expect(foreign.status).toBe(one.status);
          expect(comparable(foreign, used)).toEqual(comparable(unknown, used));
        });
      }
    }
  }

  it('streams: an id of theirs resumes nothing of theirs, and live changes of theirs are not heard', async () => {
    const inboxUrl = `${app.url}/api/v1/notify/inapp/${recipient}/stream`;
    const dashboardUrl = `${app.url}/api/v1/dashboard/stream?token=${stranger.token}`;
    const readers = [
      await readEvents(inboxUrl, { 'x-api-key': stranger.apiKey }),
      await readEvents(inboxUrl, { 'x-api-key': stranger.apiKey, 'last-event-id': '-1.-1' }),
      await readEvents(dashboardUrl, { 'last-event-id': their('dashboardEvent') }),
      await readEvents(dashboardUrl, {}),
    ];
    await owner.notify({ channel: 'IN_APP', recipient, body: 'of the owner' });
    await stranger.notify({ channel: 'IN_APP', recipient, body: 'my own' });
    for (const reader of readers) await reader.atLeast(reader === readers[0] || reader === readers[1] ? 1 : 3);
    for (const { events } of readers) {
      const text = JSON.stringify(events);
      expect(text).not.toContain(owner.id);
      expect(text).not.toContain('of the owner');
    }
    expect(readers.map(({ events }) => events.length)).toEqual([1, 1, 3, 3]);
    for (const reader of readers) await reader.close();
  });

  it('things stand as they stood', async () => {
    expect((await owner.withKey('GET', `/notify/inapp/${recipient}`)).body.unreadCount).toBe(4);
    expect((await owner.dashboard('GET', '/templates')).body).toHaveLength(1);
    expect((await owner.dashboard('GET', '/providers')).body).toHaveLength(1);
    expect((await owner.dashboard('GET', '/keys')).body).toHaveLength(1);
    expect((await owner.dashboard('GET', '/suppressions')).body.data).toHaveLength(2);
    const { body } = await owner.dashboard('GET', `/notifications/${their('scheduled')}`);
    expect(body.notification.status).toBe('SCHEDULED');
  });
});
