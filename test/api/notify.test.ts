// POST /notify: what it takes, what it refuses, in which order, and what its answers carry.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { requested } from '../support/requested.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Tenant;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  tenant = await app.tenant('owner', { email: 'owner@example.com' });
});

afterAll(() => app.close());

const email = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b' };
const inApp = { channel: 'IN_APP', recipient: 'user-1', subject: 'Hello', body: 'World' };
const paths = (body: { details: { path: string }[] }) => body.details.map((detail) => detail.path);

describe('a notification', () => {
  it('is accepted with its id under both names and the position of its event', async () => {
    const { status, body, headers } = await tenant.notify(inApp);
    expect(status).toBe(202);
    expect(body).toEqual({
      notificationId: expect.stringMatching(/^notif_[0-9a-z]{26}$/),
      notification_id: body.notificationId,
      status: 'queued',
    });
    expect(headers.get('x-event-position')).toMatch(/^notifications\.in-app\.default:\d+:\d+$/);
    expect(headers.get('location')).toBe(`/api/v1/notify/${body.notificationId}`);
    expect((await app.call('GET', headers.get('location') ?? '', { 'x-api-key': tenant.apiKey })).status).toBe(200);
    expect(headers.get('x-request-id')).toMatch(/^req_/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('etag')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it('without data is shown as it was written, and stands once in the event', async () => {
    const body = 'x'.repeat(100 * 1024);
    const accepted = await tenant.notify({ channel: 'IN_APP', recipient: 'once', subject: 'Plain', body });
    const position = accepted.headers.get('x-event-position') ?? '';
    const shown = await tenant.withKey('GET', `/notify/${accepted.body.notificationId}`, undefined, {
      'x-after-position': position,
    });
    expect(shown.body.notification).toMatchObject({ subject: 'Plain', rawSubject: 'Plain', body, rawBody: body });
    const [topic = '', partition, offset] = position.split(':');
    const range = { topic, partition: Number(partition), from: Number(offset), to: Number(offset) + 1 };
    for await (const { size } of app.deps.log.read(range)) expect(size).toBeLessThan(101 * 1024);
    const bare = await tenant.notify({ channel: 'IN_APP', recipient: 'once', body: 'no subject' });
    const second = await tenant.withKey('GET', `/notify/${bare.body.notificationId}`, undefined, {
      'x-after-position': bare.headers.get('x-event-position') ?? '',
    });
    expect(second.body.notification).toMatchObject({ subject: null, rawSubject: null, rawBody: 'no subject' });
  });

  it('that an earlier version kept twice is shown as it was', async () => {
    const number = '0'.repeat(25);
    const old = requested(3, 1);
    const [subject, body] = ['Hello', 'Dear Ada'];
    const kept = { ...old.request, subject, body, rawSubject: subject, rawBody: body };
    const notificationId = `notif_${number}7` as NotificationId;
    const tenantId = tenant.id as TenantId;
    const appended = await app.deps.log.append({ ...old, tenantId, notificationId, request: kept });
    if (appended.kind !== 'durable') throw new Error(appended.reason);
    const { topic, partition, offset } = appended.position;
    const shown = await tenant.withKey('GET', `/notify/${notificationId}`, undefined, {
      'x-after-position': `${topic}:${partition}:${offset}`,
    });
    expect(shown.body.notification).toMatchObject({ subject, body, rawSubject: subject, rawBody: body });
  });

  it('is accepted below /v1 too', async () => {
    const { status } = await app.call('POST', '/v1/notify', { 'x-api-key': tenant.apiKey }, inApp);
    expect(status).toBe(202);
  });

  it('is shown to its tenant with everything that was sent', async () => {
    const data = { name: 'Ada', nested: { list: [1, 'two', null] } };
    const metadata = { order: '4711' };
    const sent = {
      channel: 'IN_APP',
      recipient: 'user-1',
      rawSubject: 'Hello {{ name }}',
      rawBody: 'Dear {{ name }}',
      data,
      metadata,
      priority: 'BULK',
    };
    const accepted = await tenant.notify(sent);
    const position = accepted.headers.get('x-event-position') ?? '';
    const { status, body } = await tenant.withKey('GET', `/notify/${accepted.body.notificationId}`, undefined, {
      'x-after-position': position,
    });
    expect(status).toBe(200);
    expect(body.notification).toMatchObject({
      id: accepted.body.notificationId,
      channel: 'IN_APP',
      priority: 'BULK',
      status: 'QUEUED',
      template: null,
      subject: 'Hello Ada',
      body: 'Dear Ada',
      rawSubject: 'Hello {{ name }}',
      rawBody: 'Dear {{ name }}',
      data,
      metadata,
      attemptCount: 0,
      attempts: [],
      lastError: null,
      provider: null,
    });
  });

  it("isn't shown to another tenant", async () => {
    const { body } = await tenant.notify(inApp);
    const other = await app.tenant('another');
    const foreign = await other.withKey('GET', `/notify/${body.notificationId}`);
    const missing = await other.withKey('GET', '/notify/notif_00000000000000000000000000');
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' });
  });

  it('without data keeps placeholders as they are written', async () => {
    const { body, headers } = await tenant.notify({ ...inApp, body: 'A {{ b } c' });
    const shown = await tenant.withKey('GET', `/notify/${body.notificationId}`, undefined, {
      'x-after-position': headers.get('x-event-position') ?? '',
    });
    expect(shown.body.notification.body).toBe('A {{ b } c');
  });

  it('whose text does not parse is refused with line and column when there is data', async () => {
    const { status, body } = await tenant.notify({ ...inApp, body: 'A\n{{ b c }}', data: { b: 1 } });
    expect(status).toBe(400);
    expect(body.details).toEqual([{ path: 'body', message: expect.stringContaining('line 2') }]);
  });

  it('with a prototype key in its data keeps it as data and changes nothing else', async () => {
    const { status } = await tenant.notify(
      JSON.stringify(inApp).replace('}', ',"data":{"__proto__":{"polluted":true}}}'),
      { 'content-type': 'application/json' },
    );
    expect(status).toBe(202);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('keeps a well-formed traceparent and drops any other', async () => {
    const seen: unknown[] = [];
    const stop = app.deps.log.tail(['notifications.in-app.high'], ({ event }) => seen.push(event?.traceparent));
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await tenant.notify({ ...inApp, priority: 'HIGH' }, { traceparent });
    await tenant.notify({ ...inApp, priority: 'HIGH' }, { traceparent: `${traceparent}-x` });
    await tenant.notify(
      { ...inApp, priority: 'HIGH' },
      { traceparent: traceparent.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)) },
    );
    stop();
    expect(seen).toEqual([traceparent, null, null]);
  });

  it('keeps tracestate and baggage within their limits; what is too long or malformed is dropped, never refused', async () => {
    const seen: unknown[] = [];
    const stop = app.deps.log.tail(['notifications.in-app.high'], ({ event }) => {
      if (event?.type === 'NotificationRequested') seen.push([event.request.tracestate, event.request.baggage]);
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const given: Record<string, string>[] = [
      { traceparent, tracestate: 'congo=t61rcWkgMzE', baggage: 'userId=alice, isProduction=false;p=1' },
      { traceparent, tracestate: `a=${'x'.repeat(511)}`, baggage: `a=${'x'.repeat(8191)}` },
      { tracestate: 'congo=t61rcWkgMzE', baggage: 'a=1' },
    ];
    for (const headers of given)
      expect((await tenant.notify({ ...inApp, priority: 'HIGH' }, headers)).status).toBe(202);
    stop();
    expect(seen).toEqual([
      ['congo=t61rcWkgMzE', 'userId=alice, isProduction=false;p=1'],
      [null, null],
      [null, 'a=1'],
    ]);
  });

  it('of a time ahead is SCHEDULED, of a time past is sent now', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    for (const [time, status, scheduledAt] of [
      [sendAt, 'SCHEDULED', sendAt],
      ['2020-01-01T00:00:00+02:00', 'QUEUED', null],
    ]) {
      const { body, headers } = await tenant.notify({ ...inApp, sendAt: time });
      expect(body.status).toBe('queued');
      const shown = await tenant.withKey('GET', `/notify/${body.notificationId}`, undefined, {
        'x-after-position': headers.get('x-event-position') ?? '',
      });
      expect(shown.body.notification).toMatchObject({ status, scheduledAt });
    }
  });

  it('as a mail with copies shows them, and where answers go to', async () => {
    const mailer = await app.tenant('mailer', { email: 'mailer@example.com' });
    const config = { fromName: 'Shop', fromEmail: 'shop@example.com' };
    const provider = { channel: 'EMAIL', provider: 'resend', apiKey: 're_123', config, enabled: true };
    expect((await mailer.dashboard('POST', '/providers', provider)).status).toBe(200);
    const mail = { ...email, recipient: 'ada@bücher.example' };
    const copies = { replyTo: 'r@example.com', cc: ['c@example.com', 'c2@bücher.example'], bcc: ['d@example.com'] };
    for (const wanted of [{}, copies]) {
      const { status, body, headers } = await mailer.notify({ ...mail, ...wanted });
      expect(status).toBe(202);
      const shown = await mailer.withKey('GET', `/notify/${body.notificationId}`, undefined, {
        'x-after-position': headers.get('x-event-position') ?? '',
      });
      expect(shown.body.notification).toMatchObject({ ...mail, replyTo: null, cc: [], bcc: [], ...wanted });
    }
  });

  it('with an expiry shows it; ttlSeconds count from sendAt, or from now', async () => {
    const recordOf = async (wanted: object) => {
      const { body, headers } = await tenant.notify({ ...inApp, ...wanted });
      const shown = await tenant.withKey('GET', `/notify/${body.notificationId}`, undefined, {
        'x-after-position': headers.get('x-event-position') ?? '',
      });
      return shown.body.notification;
    };
    const [sendAt, expiresAt] = [3_600_000, 7_200_000].map((ms) => new Date(Date.now() + ms).toISOString());
    expect(await recordOf({})).toMatchObject({ expiresAt: null });
    expect(await recordOf({ sendAt, expiresAt })).toMatchObject({ scheduledAt: sendAt, expiresAt });
    expect(await recordOf({ sendAt, ttlSeconds: 3600 })).toMatchObject({
      expiresAt: new Date(Date.parse(sendAt ?? '') + 3_600_000).toISOString(),
    });
    const now = await recordOf({ sendAt: '2020-01-01T00:00:00Z', ttlSeconds: 60 });
    const aheadMs = Date.parse(now.expiresAt) - Date.parse(now.createdAt);
    expect(aheadMs).toBe(60_000);
  });
});

describe('a field', () => {
  it.each([
    ['channel missing', { recipient: 'u', body: 'b' }, 'channel'],
    ['channel unknown', { ...inApp, channel: 'FAX' }, 'channel'],
    ['channel in lower case', { ...inApp, channel: 'in_app' }, 'channel'],
    ['recipient missing', { channel: 'IN_APP', body: 'b' }, 'recipient'],
    ['recipient empty', { ...inApp, recipient: '' }, 'recipient'],
    ['a recipient that most clients leave out of an address', { ...inApp, recipient: '..' }, 'recipient'],
    ['another that they leave out', { ...inApp, recipient: '.' }, 'recipient'],
    ['recipient of 257 characters', { ...inApp, recipient: 'x'.repeat(257) }, 'recipient'],
    ['body missing', { channel: 'IN_APP', recipient: 'u' }, 'body'],
    ['body of a wrong type', { ...inApp, body: 7 }, 'body'],
    ['body over 200 KiB', { ...inApp, body: 'x'.repeat(200 * 1024 + 1) }, 'body'],
    ['body over 200 KiB in UTF-8', { ...inApp, body: 'ü'.repeat(100 * 1024 + 1) }, 'body'],
    ['subject of 999 characters', { ...inApp, subject: 'x'.repeat(999) }, 'subject'],
    ['subject with a line break', { ...inApp, subject: 'a\nb' }, 'subject'],
    ['priority unknown', { ...inApp, priority: 'LOW' }, 'priority'],
    ['data an array', { ...inApp, data: [] }, 'data'],
    ['data over 64 KiB', { ...inApp, data: { a: 'x'.repeat(64 * 1024 - 7) } }, 'data'],
    ['data nested too deep', { ...inApp, data: JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`) }, 'data'],
    [
      'metadata of 21 pairs',
      { ...inApp, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, ''])) },
      'metadata',
    ],
    ['metadata that is no text', { ...inApp, metadata: { a: 1 } }, 'metadata.a'],
    ['metadata of 501 characters', { ...inApp, metadata: { a: 'x'.repeat(501) } }, 'metadata.a'],
    ['sendAt without a zone', { ...inApp, sendAt: '2027-01-01T00:00:00' }, 'sendAt'],
    ['sendAt on no such day', { ...inApp, sendAt: '2027-02-30T00:00:00Z' }, 'sendAt'],
    ['sendAt 91 days ahead', { ...inApp, sendAt: new Date(Date.now() + 91 * 86_400_000).toISOString() }, 'sendAt'],
    ['expiresAt without a zone', { ...inApp, expiresAt: '2027-01-01T00:00:00' }, 'expiresAt'],
    [
      'expiresAt that is not after sendAt',
      { ...inApp, sendAt: '2020-01-01T00:00:00Z', expiresAt: '2020-01-01T00:00:00Z' },
      'expiresAt',
    ],
    ['expiresAt and ttlSeconds', { ...inApp, expiresAt: '2027-01-01T00:00:00Z', ttlSeconds: 1 }, 'ttlSeconds'],
    ['ttlSeconds of 0', { ...inApp, ttlSeconds: 0 }, 'ttlSeconds'],
    ['ttlSeconds of half a second', { ...inApp, ttlSeconds: 0.5 }, 'ttlSeconds'],
    ['ttlSeconds over a year', { ...inApp, ttlSeconds: 31_536_001 }, 'ttlSeconds'],
    ['an unknown field', { ...inApp, extra: 1 }, 'extra'],
    ['a template that there is not', { channel: 'IN_APP', recipient: 'u', template: 'none' }, 'template'],
    ['NUL in a text', { ...inApp, body: 'a\u0000b' }, 'body'],
    ['half a surrogate pair', { ...inApp, data: { a: ['\ud800'] } }, 'data.a.0'],
    ['a phone number without +', { channel: 'SMS', recipient: '4915112345678', body: 'b' }, 'recipient'],
    ['a webhook to a private address', { channel: 'WEBHOOK', recipient: 'https://10.0.0.1/x', body: 'b' }, 'recipient'],
    ['a webhook over http', { channel: 'WEBHOOK', recipient: 'http://example.com/x', body: 'b' }, 'recipient'],
    [
      'a webhook of 2,049 characters',
      { channel: 'WEBHOOK', recipient: `https://example.com/${'x'.repeat(2029)}`, body: 'b' },
      'recipient',
    ],
    ['copies of what is no mail', { ...inApp, cc: ['a@example.com'] }, 'cc'],
    ['blind copies of what is no mail', { ...inApp, bcc: [] }, 'bcc'],
    ['an address for answers to what is no mail', { ...inApp, replyTo: 'a@example.com' }, 'replyTo'],
    ['a copy that is two addresses', { ...email, cc: ['a@example.com', 'b@example.com, c@example.com'] }, 'cc.1'],
    ['a blind copy with a line break', { ...email, bcc: ['a@example.com\r\nTo: b@example.com'] }, 'bcc.0'],
    ['a copy with a name', { ...email, cc: ['Ada <a@example.com>'] }, 'cc.0'],
    ['a copy that is no text', { ...email, cc: [7] }, 'cc.0'],
    ['copies that are no list', { ...email, cc: 'a@example.com' }, 'cc'],
    ['11 copies', { ...email, cc: Array.from({ length: 11 }, (_, i) => `a${i}@example.com`) }, 'cc'],
    ['11 blind copies', { ...email, bcc: Array.from({ length: 11 }, (_, i) => `a${i}@example.com`) }, 'bcc'],
    ['two addresses for answers', { ...email, replyTo: 'a@example.com,b@example.com' }, 'replyTo'],
    ['answers to nobody', { ...email, replyTo: '' }, 'replyTo'],
    ['an email without subject', { channel: 'EMAIL', recipient: 'a@example.com', body: 'b' }, 'subject'],
  ])('that is wrong is named: %s', async (_, sent, path) => {
    const { status, body } = await tenant.notify(sent);
    expect(status).toBe(400);
    expect(body).toEqual({
      code: 'BAD_REQUEST',
      error: expect.any(String),
      details: expect.any(Array),
      requestId: expect.stringMatching(/^req_/),
    });
    expect(paths(body)).toContain(path);
  });

  it.each([
    'a.example.com',
    'a@b',
    '"a b"@example.com',
    'Ada <a@example.com>',
    'a@example.com,b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    '.a@example.com',
    'a..b@example.com',
    'a@-example.com',
    'a@[127.0.0.1]',
    ' a@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(59)}.com`,
  ])('recipient is no email address: %j', async (recipient) => {
    const { status, body } = await tenant.notify({ channel: 'EMAIL', recipient, subject: 's', body: 'b' });
    expect(status).toBe(400);
    expect(paths(body)).toEqual(['recipient']);
  });

  it('at its limit is taken', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'x'.repeat(500)]));
    const sent = [
      { ...inApp, recipient: 'x'.repeat(256), subject: 'x'.repeat(998), metadata },
      { ...inApp, body: 'x'.repeat(200 * 1024) },
      { ...inApp, data: { a: 'x'.repeat(64 * 1024 - 8) } },
      { ...inApp, data: JSON.parse(`${'{"a":'.repeat(32)}1${'}'.repeat(32)}`) },
      { channel: 'WEBHOOK', recipient: `https://example.com/${'x'.repeat(2028)}`, body: 'b' },
    ];
    for (const one of sent) expect((await tenant.notify(one)).status).toBe(202);
  });

  it('of two names may be given twice when both say the same', async () => {
    const { status } = await tenant.notify({ ...inApp, rawSubject: inApp.subject, rawBody: inApp.body });
    expect(status).toBe(202);
  });

  it.each([
    [{ ...inApp, rawSubject: 'Other' }, ['subject', 'rawSubject']],
    [{ ...inApp, rawBody: 'Other' }, ['body', 'rawBody']],
    [{ channel: 'IN_APP', recipient: 'u', template: 'a', templateName: 'b' }, ['template', 'templateName']],
    [{ ...inApp, subject: undefined, template: 'a' }, ['template', 'body']],
  ])('that contradicts another is named with it: %j', async (sent, named) => {
    const { status, body } = await tenant.notify(sent);
    expect(status).toBe(400);
    expect(paths(body)).toEqual(expect.arrayContaining(named));
  });
});

describe('a template', () => {
  it('is filled in with the data, escaped in an HTML mail, and named in the record', async () => {
    const sink = { fromName: 'Shop', fromEmail: 'shop@example.com' };
    const saved = await tenant.dashboard('POST', '/providers', {
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: 're_0123456789abcdef',
      config: sink,
    });
    expect(saved.status).toBe(200);
    const made = await tenant.dashboard('POST', '/templates', {
      name: 'welcome',
      channel: 'EMAIL',
      subject: 'Hi {{ name }}',
      body: '<p>{{ name }}{{ none }}</p>',
    });
    expect(made.status).toBe(201);
    for (const name of ['template', 'templateName']) {
      const { status, body, headers } = await tenant.notify({
        channel: 'EMAIL',
        recipient: 'a@example.com',
        [name]: 'welcome',
        data: { name: 'A & B' },
      });
      expect(status).toBe(202);
      const shown = await tenant.withKey('GET', `/notify/${body.notificationId}`, undefined, {
        'x-after-position': headers.get('x-event-position') ?? '',
      });
      expect(shown.body.notification).toMatchObject({
        subject: 'Hi A & B',
        body: '<p>A &amp; B</p>',
        rawSubject: null,
        rawBody: null,
        template: { id: made.body.id, name: 'welcome', version: 1 },
      });
    }
  });

  it('of another channel is refused', async () => {
    await tenant.dashboard('POST', '/templates', { name: 'text', channel: 'SMS', body: 'Hi' });
    const { status, body } = await tenant.notify({ channel: 'IN_APP', recipient: 'u', template: 'text' });
    expect(status).toBe(400);
    expect(paths(body)).toEqual(['template']);
  });
});

describe('the order of checks', () => {
  const bad = { 'content-type': 'text/plain' };

  it('asks for the key before anything else', async () => {
    for (const headers of [{}, { 'x-api-key': 'nk_wrong' }, { 'x-api-key': 'x'.repeat(10_000) }]) {
      const { status, body } = await app.call('POST', '/api/v1/notify', { ...bad, ...headers }, 'x'.repeat(300_000));
      expect(status).toBe(401);
      expect(body.code).toBe('UNAUTHORIZED');
    }
  });

  it('looks at the type, then the size, then the text', async () => {
    const large = 'x'.repeat(256 * 1024 + 1);
    const json = { 'content-type': 'application/json' };
    expect((await tenant.notify(large, bad)).status).toBe(415);
    expect((await tenant.notify(large, json)).status).toBe(413);
    expect((await tenant.notify('{', json)).status).toBe(400);
    expect((await tenant.notify('', json)).status).toBe(400);
    expect((await tenant.notify('[]', json)).status).toBe(400);
    expect((await tenant.notify(new Uint8Array([0x7b, 0xff, 0x7d]), json)).status).toBe(400);
    expect((await tenant.notify(JSON.stringify(inApp), { ...json, 'content-encoding': 'gzip' })).status).toBe(415);
    expect(
      (await tenant.notify(JSON.stringify(inApp), { 'content-type': 'application/json; charset=latin1' })).status,
    ).toBe(415);
    expect(
      (await tenant.notify(JSON.stringify(inApp), { 'content-type': 'application/json; charset=UTF-8' })).status,
    ).toBe(202);
  });

  it('names a wrong field before a missing provider', async () => {
    expect((await tenant.notify({ channel: 'SMS', recipient: 'x', body: 'b' })).status).toBe(400);
    const { status, body } = await tenant.notify({ channel: 'SMS', recipient: '+14155550123', body: 'b' });
    expect(status).toBe(422);
    expect(body.code).toBe('NO_PROVIDER_CONFIGURED');
  });

  it('knows a request of exactly 256 KiB from a larger one, however it is sent', async () => {
    const padded = (size: number) => {
      const text = JSON.stringify({ ...inApp, body: 'x' });
      return text + ' '.repeat(size - text.length);
    };
    const json = { 'content-type': 'application/json' };
    expect((await tenant.notify(padded(256 * 1024), json)).status).toBe(202);
    const response = await fetch(`${app.url}/api/v1/notify`, {
      method: 'POST',
      headers: { ...json, 'x-api-key': tenant.apiKey },
      body: new Blob([padded(256 * 1024 + 1)]).stream(),
      duplex: 'half',
    });
    expect(response.status).toBe(413);
  });

  it('tells an unknown address from a method that it does not take', async () => {
    expect((await app.call('GET', '/api/v1/nothing', {})).status).toBe(404);
    expect((await app.call('GET', '/api/v2/notify', {})).status).toBe(404);
    const { status, headers, body } = await app.call('GET', '/api/v1/notify', {});
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('POST');
    expect(body.code).toBe('METHOD_NOT_ALLOWED');
  });
});
