// The wall: bodies, fields, paths, queries and headers that are meant to break something. None breaks anything.

import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App, Reply } from '../../support/app.ts';
import { startApp } from '../../support/app.ts';
import { wrongBodies } from '../../support/hostile.ts';
import { expectAlive, expectHarmless } from '../../support/unharmed.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
let templateId: string;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
  const made = await tenant.dashboard('POST', '/templates', { name: 't', channel: 'SMS', body: '{{ a }}' });
  templateId = made.body.id as string;
});

afterAll(async () => {
  await expectAlive(app);
  await app.close();
});

async function harmless(call: () => Promise<Reply>): Promise<Reply> {
  const startedAt = performance.now();
  const reply = await call();
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
  expectHarmless({ status: reply.status, text, tookMs: performance.now() - startedAt });
  return reply;
}

const json = { 'content-type': 'application/json' };
const credentials = () => ({ 'x-api-key': tenant.apiKey, authorization: `Bearer ${tenant.token}` });
const send = (method: string, path: string, body: unknown, headers: Record<string, string> = json) =>
  harmless(() => app.call(method, `/api/v1${path}`, { ...credentials(), ...headers }, body));

/** Every route that takes a body. */
const routes: readonly (readonly [string, string])[] = [
  ['POST', '/notify'],
  ['POST', '/notify/inapp/u/read'],
  ['POST', '/auth/regenerate-key'],
  ['POST', '/keys'],
  ['POST', '/providers'],
  ['POST', '/providers/WEBHOOK/test'],
  ['POST', '/templates'],
  ['PUT', '/templates/:id'],
  ['POST', '/templates/:id/preview'],
];

describe.each(routes)('%s %s', (method, path) => {
  const at = () => path.replace(':id', templateId);

  it.each(Object.entries(wrongBodies))('refuses %s', async (_, body) => {
    const reply = await send(method, at(), body);
    expect([400, 413]).toContain(reply.status);
    expect(Object.keys(reply.body as object)).toEqual(['code', 'error', 'details', 'requestId']);
    expect(reply.body.details.length).toBeLessThanOrEqual(100);
    expect(reply.body.requestId).toMatch(/^req_/);
  });

  it('refuses what it is not told to be JSON in UTF-8, a compressed bomb too', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, '['));
    expect((await send(method, at(), bomb, { ...json, 'content-encoding': 'gzip' })).status).toBe(415);
    for (const type of [
      'text/plain',
      'application/json; charset=utf-16',
      'application/json; charset=utf-8; charset=utf-7',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
    ]) {
      expect((await send(method, at(), '{}', { 'content-type': type })).status).toBe(415);
    }
  });

  it('refuses a type of endless white space in no time', async () => {
    for (const type of [
      `application/json${' '.repeat(12_000)}x`,
      `application/json;${' '.repeat(6000)}charset=utf-8${' '.repeat(6000)}x`,
    ]) {
      // One by one each would be in time.
      const replies = Promise.all(Array.from({ length: 8 }, () => send(method, at(), '{}', { 'content-type': type })));
      expect((await replies).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 415));
    }
  });

  it('refuses a body over 256 KiB, however it comes', async () => {
    const large = `{"a":"${'x'.repeat(256 * 1024)}"}`;
    expect((await send(method, at(), large)).status).toBe(413);
    const reply = await harmless(async () => {
      const response = await fetch(`${app.url}/api/v1${at()}`, {
        method,
        headers: { ...credentials(), ...json },
        body: new Blob([large]).stream(),
        duplex: 'half',
      });
      return { status: response.status, headers: response.headers, body: await response.text() };
    });
    expect(reply.status).toBe(413);
  });
});

const inApp = { channel: 'IN_APP', recipient: 'u', subject: 's', body: 'b' };
const mailer = {
  channel: 'EMAIL',
  provider: 'smtp',
  apiKey: 'the password',
  config: { fromName: 'Shop', fromEmail: 'shop@example.com', host: 'mail.example.com', user: 'u' },
  enabled: true,
};
const template = { name: 'n', channel: 'EMAIL', subject: 's', body: 'b' };

describe('a text field', () => {
  const fields: readonly (readonly [string, object, readonly string[]])[] = [
    [
      '/notify',
      { ...inApp, priority: 'HIGH', sendAt: '2020-01-01T00:00:00Z' },
      ['channel', 'recipient', 'subject', 'body', 'priority', 'sendAt'],
    ],
    ['/notify', { channel: 'IN_APP', recipient: 'u', template: 't' }, ['template']],
    ['/notify', { channel: 'IN_APP', recipient: 'u', templateName: 't' }, ['templateName']],
    ['/notify', { channel: 'IN_APP', recipient: 'u', rawSubject: 's', rawBody: 'b' }, ['rawSubject', 'rawBody']],
    ['/providers', mailer, ['channel', 'provider', 'apiKey', 'enabled']],
    ['/templates', template, ['name', 'channel', 'subject', 'body']],
    ['/keys', { name: 'k', scopes: ['read'] }, ['name']],
  ];
  const cases = fields.flatMap(([path, valid, names]) => names.map((name) => ({ path, name, valid })));

  it.each(cases)(
    '$name of $path takes no object, no list, no NUL and no half surrogate',
    async ({ path, name, valid }) => {
      for (const value of [{ $gt: '' }, { $where: 'sleep(5000)' }, { $ne: null }, ['x'], { toString: 'x' }, 7, null]) {
        if (value === null && name === 'subject' && path === '/templates') continue;
        const { status, body } = await send('POST', path, { ...valid, [name]: value });
        expect([name, value, status]).toEqual([name, value, 400]);
        expect(body.details.map((detail: { path: string }) => detail.path)).toContain(name);
      }
      for (const value of ['a\u0000b', '\ud800', 'a\udc00']) {
        const { status } = await send('POST', path, JSON.stringify({ ...valid, [name]: value }));
        expect([name, value, status]).toEqual([name, value, 400]);
      }
    },
  );

  it.each(['fromName', 'fromEmail', 'host', 'user', 'port', 'secure', 'maxPerSecond'])(
    'config.%s of a provider takes none of these either',
    async (name) => {
      const values = [{ $gt: '' }, ['x'], { __proto__: null }, 'a\u0000b', 'a\r\nb', '\ud800', -1e308];
      for (const value of values) {
        const { status, body } = await send('POST', '/providers', {
          ...mailer,
          config: { ...mailer.config, [name]: value },
        });
        expect([value, status]).toEqual([value, 400]);
        expect(body.details[0].path).toBe(`config.${name}`);
      }
    },
  );

  it.each([
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"fromName":"a","fromEmail":"a@example.com","host":"h","__proto__":{"host":"127.0.0.1"}}',
    '{"$where":"1"}',
    '{"host.name":"x"}',
    `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    '[]',
    'null',
  ])('config of a provider refuses hostile fields: %#', async (config) => {
    const sent = JSON.stringify({ ...mailer, config: 0 }).replace('"config":0', `"config":${config}`);
    expect((await send('POST', '/providers', sent)).status).toBe(400);
  });
});

describe('data and metadata', () => {
  const hostile = {
    'names of operators': '{"$gt":"","$where":"sleep(1000)","a.b":{"$set":{"x":1}},"":"empty"}',
    'names of a prototype': '{"constructor":{"prototype":{"polluted":true}},"toString":"x","hasOwnProperty":"y"}',
    'a prototype': '{"__proto__":{"polluted":true},"a":{"__proto__":{"isAdmin":true}}}',
    'numbers at the ends of their range': '{"a":1.7976931348623157e308,"b":-1e308,"c":5e-324,"d":-0}',
    'keys twice': '{"a":1,"a":2}',
    'toJSON and then': '{"toJSON":"x","then":"y","valueOf":1,"length":1e9}',
    'right-to-left and zero-width': '{"a":"\\u202e\\u200b\\ufeff"}',
  };

  it.each(Object.entries(hostile))('data with %s is kept as data', async (_, data) => {
    const body = JSON.stringify({
      ...inApp,
      body: '{{ a }}{{ __proto__.polluted }}{{ constructor.prototype }}',
      data: 0,
    });
    const { status, body: answer, headers } = await send('POST', '/notify', body.replace('"data":0', `"data":${data}`));
    expect(status).toBe(202);
    const shown = await harmless(() =>
      tenant.withKey('GET', `/notify/${answer.notificationId}`, undefined, {
        'x-after-position': headers.get('x-event-position') ?? '',
      }),
    );
    expect(shown.body.notification.data).toEqual(JSON.parse(JSON.stringify(JSON.parse(data))));
    const preview = JSON.stringify({ data: 0 }).replace('0', data);
    expect((await send('POST', `/templates/${templateId}/preview`, preview)).status).toBe(200);
  });

  it.each(['constructor', 'toString', '$where', 'a.b', '$gt', 'then', 'length', '\u202e'])(
    'metadata named %j comes back as it was',
    async (name) => {
      const { status, body, headers } = await send('POST', '/notify', { ...inApp, metadata: { [name]: 'x' } });
      expect(status).toBe(202);
      const shown = await harmless(() =>
        tenant.withKey('GET', `/notify/${body.notificationId}`, undefined, {
          'x-after-position': headers.get('x-event-position') ?? '',
        }),
      );
      expect(shown.body.notification.metadata).toEqual({ [name]: 'x' });
    },
  );

  it('metadata named __proto__ is refused', async () => {
    const sent = JSON.stringify({ ...inApp, metadata: 0 }).replace('0', '{"__proto__":"x"}');
    expect((await send('POST', '/notify', sent)).status).toBe(400);
  });
});

describe('a field of n is taken, of n + 1 refused', () => {
  const name = (length: number) => 'n'.repeat(length);
  const limits: Readonly<Record<string, readonly [number, string, (length: number) => object, string]>> = {
    subject: [998, '/notify', (n) => ({ ...inApp, subject: name(n) }), 'subject'],
    body: [200 * 1024, '/notify', (n) => ({ ...inApp, body: name(n) }), 'body'],
    recipient: [256, '/notify', (n) => ({ ...inApp, recipient: name(n) }), 'recipient'],
    'metadata pairs': [
      20,
      '/notify',
      (n) => ({ ...inApp, metadata: Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, ''])) }),
      'metadata',
    ],
    'the name of metadata': [64, '/notify', (n) => ({ ...inApp, metadata: { [name(n)]: '' } }), 'metadata'],
    'a value of metadata': [500, '/notify', (n) => ({ ...inApp, metadata: { a: name(n) } }), 'metadata.a'],
    data: [64 * 1024, '/notify', (n) => ({ ...inApp, data: { a: name(n - 8) } }), 'data'],
    'the depth of data': [
      32,
      '/notify',
      (n) => ({ ...inApp, data: JSON.parse(`${'{"a":'.repeat(n)}1${'}'.repeat(n)}`) as object }),
      'data',
    ],
    "a template's name": [100, '/templates', (n) => ({ ...template, channel: 'SMS', name: name(n) }), 'name'],
    "a template's subject": [998, '/templates', (n) => ({ ...template, name: 'a', subject: name(n) }), 'subject'],
    "a template's body": [200 * 1024, '/templates', (n) => ({ ...template, name: 'b', body: name(n) }), 'body'],
    fromName: [
      200,
      '/providers',
      (n) => ({ ...mailer, config: { ...mailer.config, fromName: name(n) } }),
      'config.fromName',
    ],
    'the host': [253, '/providers', (n) => ({ ...mailer, config: { ...mailer.config, host: name(n) } }), 'config.host'],
    'the login': [
      256,
      '/providers',
      (n) => ({ ...mailer, config: { ...mailer.config, user: name(n) } }),
      'config.user',
    ],
    'the password': [512, '/providers', (n) => ({ ...mailer, apiKey: name(n) }), 'apiKey'],
    'the port': [65_535, '/providers', (n) => ({ ...mailer, config: { ...mailer.config, port: n } }), 'config.port'],
    'the rate': [
      10_000,
      '/providers',
      (n) => ({ ...mailer, config: { ...mailer.config, maxPerSecond: n } }),
      'config.maxPerSecond',
    ],
  };

  it.each(Object.entries(limits))('%s', async (_, [max, path, make, field]) => {
    expect((await send('POST', path, make(max))).status).toBeLessThan(300);
    const over = await send('POST', path, make(max + 1));
    expect(over.status).toBe(400);
    expect(over.body.details[0].path).toMatch(new RegExp(`^${field}`));
  });
});

describe('a query', () => {
  const lists = ['/notifications', '/notify/inapp/u', '/dashboard/stats'];
  const queries = [
    'status[$gt]=',
    'status={"$gt":""}',
    'recipient[]=a&recipient[]=b',
    '__proto__=1',
    'metadata.=1',
    'q=%00',
    'recipientPrefix=%00',
    'metadata.a=1&metadata.a=2',
    '__proto__[polluted]=1',
    'constructor=1',
    'constructor[prototype][polluted]=1',
    'toString=1',
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1e2',
    'limit=%D9%A3',
    'limit=NaN',
    'limit=1&limit=2',
    'cursor=x',
    `cursor=${'x'.repeat(8000)}`,
    'cursor=..',
    'cursor=%00',
    'cursor=eyJhIjoxfQ.AAAAAAAAAAAAAAAAAAAAAA',
    'page=0',
    'page=99999999999999999999',
    'from=yesterday',
    'from=2027-02-30T00:00:00Z',
    'to=-1',
    'range=%00',
    'unread=1',
    'a=%ED%A0%80',
    'a=%',
    '%00=1',
    'x'.repeat(14_000),
    Array.from({ length: 2000 }, (_, i) => `k${i}=1`).join('&'),
  ];

  it.each(queries.map((query) => [query.slice(0, 40), query]))('of any list refuses %s', async (_, query) => {
    for (const path of lists) {
      const { status, body } = await send('GET', `${path}?${query}`, undefined, {});
      expect([path, query.slice(0, 40), status]).toEqual([path, query.slice(0, 40), 400]);
      expect(body.details.length).toBeLessThanOrEqual(100);
    }
  });

  it.each([
    'recipient={"$gt":""}',
    'recipient=$where',
    'recipientPrefix=%5E.*',
    'q=$where',
    'metadata.$where=1',
    'metadata.a.b=%7B%22%24gt%22:%22%22%7D',
    'metadata.constructor=1',
    'metadata.__proto__=1',
    'template=%7B%7B%20a%20%7D%7D',
    "batchId=' OR 1=1 --",
    'recipient=%25',
  ])('filters by the text as it stands: %s', async (query) => {
    const { status, body } = await send('GET', `/notifications?${query}`, undefined, {});
    expect([status, body.data]).toEqual([200, []]);
  });
});

describe('a path', () => {
  const ids = [
    '%00',
    '%',
    '%ff',
    '%ED%A0%80',
    '..%2f..%2fetc%2fpasswd',
    '$where',
    '__proto__',
    'constructor',
    'x'.repeat(8000),
    '%0d%0aSet-Cookie:%20a=b',
    "'%20OR%201=1--",
    '%F0%9F%92%A5',
    'notif_' + '0'.repeat(26),
  ];

  it.each(ids.map((id) => [id.slice(0, 40), id]))('with %s for an id names nothing', async (_, id) => {
    for (const [method, path] of [
      ['GET', `/notify/${id}`],
      ['GET', `/notifications/${id}`],
      ['GET', `/notifications/${id}/attempts`],
      ['POST', `/notifications/${id}/retry`],
      ['POST', `/notifications/${id}/cancel`],
      ['DELETE', `/templates/${id}`],
      ['DELETE', `/keys/${id}`],
      ['DELETE', `/providers/${id}`],
      ['POST', `/providers/${id}/test`],
    ] as const) {
      const { status, headers } = await send(method, path, undefined, {});
      expect([path, [400, 404].includes(status)]).toEqual([path, true]);
      expect(headers.get('set-cookie')).toBeNull();
    }
    expect([200, 400]).toContain((await send('GET', `/notify/inapp/${id}`, undefined, {})).status);
  });

  it.each(['//', '/%2e%2e/', '/.'])('%s is the front page, whoever asks', async (path) => {
    const { status, body } = await harmless(() => app.call('GET', app.url + path, {}));
    expect([status, Object.keys(body)]).toEqual([200, Object.keys((await app.call('GET', app.url, {})).body)]);
  });

  it.each([
    '/api/v1',
    '/api/v1/',
    '/api//v1/notify',
    '/api/v1/notify/',
    '/API/V1/NOTIFY',
    '/v1/__proto__',
    '/api/v1/../v1/tenant',
    '/.env',
    '/.git/config',
    '/metrics',
    '/health/ready',
  ])('%s without credentials shows nothing', async (path) => {
    const { status } = await harmless(() => app.call('GET', app.url + path, {}));
    expect([401, 404, 405]).toContain(status);
  });
});

describe('headers', () => {
  it.each([
    ['x-api-key', 'x'.repeat(10_000)],
    ['x-api-key', '{"$gt":""}'],
    ['x-api-key', '__proto__'],
    ['authorization', 'Bearer'],
    ['authorization', 'Bearer a.b.c'],
    ['authorization', `Bearer ${'a'.repeat(10_000)}`],
    ['authorization', `Bearer a${' '.repeat(10_000)}b`],
    ['authorization', 'Basic YWRtaW46YWRtaW4='],
    ['authorization', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciJ9.'],
  ])('lets nobody in: %#', async (name, value) => {
    for (const path of ['/api/v1/tenant', '/api/v1/notify/inapp/u', '/api/v1/notifications']) {
      expect((await harmless(() => app.call('GET', path, { [name]: value }))).status).toBe(401);
    }
  });

  it.each([
    'x',
    '__proto__:0:0',
    'notifications.deliveries:12:0',
    'notifications.deliveries:-1:0',
    `${'a'.repeat(9000)}:0:0`,
    'constructor:0:0',
    'notifications.deliveries:0:99999999999999999999',
    'a, b',
  ])('x-after-position that is none is refused: %#', async (value) => {
    expect((await send('GET', '/notifications', undefined, { 'x-after-position': value })).status).toBe(400);
  });

  it.each([
    'x',
    '__proto__',
    '-1',
    '{"$gt":""}',
    "1' OR '1'='1",
    'notifications.deliveries:0:99999999999999999999',
    'x'.repeat(9000),
    'eyJhIjoxfQ.AAAAAAAAAAAAAAAAAAAAAA',
  ])('last-event-id that is none opens a stream at the end, or none: %#', async (id) => {
    for (const path of ['/notify/inapp/u/stream', '/dashboard/stream']) {
      const startedAt = performance.now();
      const ended = new AbortController();
      const response = await fetch(`${app.url}/api/v1${path}`, {
        headers: { ...credentials(), 'last-event-id': id },
        signal: ended.signal,
      });
      expectHarmless({ status: response.status, text: '', tookMs: performance.now() - startedAt });
      expect([200, 400]).toContain(response.status);
      ended.abort();
    }
  });

  it('that say more than they should are on no answer, those of helmet are on all but the hot path', async () => {
    for (const [method, path] of [
      ['GET', '/tenant'],
      ['GET', '/nothing'],
      ['GET', '/notifications?limit=0'],
      ['DELETE', '/tenant'],
    ] as const) {
      const { headers } = await send(method, path, undefined, {});
      for (const name of ['x-powered-by', 'server', 'etag', 'set-cookie', 'strict-transport-security'])
        expect(headers.get(name)).toBeNull();
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'self'"),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'SAMEORIGIN',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
    const { headers } = await tenant.notify(inApp);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    for (const name of ['x-powered-by', 'server', 'etag']) expect(headers.get(name)).toBeNull();
  });

  it.each([
    'null',
    'https://dashboard.test.evil.test',
    'https://evil.test',
    'http://dashboard.test',
    'https://DASHBOARD.test',
    'https://dashboard.test:8443',
    '*',
  ])('of CORS are not given to the origin %s', async (origin) => {
    for (const [method, path] of [
      ['OPTIONS', '/tenant'],
      ['GET', '/tenant'],
      ['OPTIONS', '/notify'],
      ['POST', '/notify'],
    ] as const) {
      const { headers } = await send(method, path, undefined, { origin, 'access-control-request-method': 'GET' });
      const given = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect(given).toEqual([]);
    }
  });
});
