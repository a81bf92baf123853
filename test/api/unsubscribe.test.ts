// One-click unsubscribing (RFC 8058) as mail programs, scanners, people and forgers do it, from the mail that was sent to the mail that isn't.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createUnsubscribeLinks } from '../../src/adapters/node/unsubscribe-links.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const publicUrl = 'https://herald.test/notifications';
let app: App;
let tenant: Tenant;
let sink: SmtpSink;

beforeAll(async () => {
  sink = await startSmtpSink();
  app = await startApp({ publicUrl });
  tenant = await shopOf(app, 'shop');
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

async function shopOf(of: App, name: string, more: object = {}): Promise<Tenant> {
  const owner = await of.tenant(name, { email: 'owner@example.com' });
  const config = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: sink.port, ...more };
  const provider = { channel: 'EMAIL', provider: 'smtp', apiKey: 'the password', config, enabled: true };
  expect((await owner.dashboard('POST', '/providers', provider)).status).toBe(200);
  return owner;
}

/** The record once it has ended, and the mail where one was sent. */
async function sent(recipient: string, more: object = {}, of = tenant) {
  const body = { channel: 'EMAIL', recipient, subject: 's', body: 'b', priority: 'BULK', ...more };
  const { status, body: accepted } = await of.notify(body);
  expect(status).toBe(202);
  const record = await until(async () => {
    const shown = await of.dashboard('GET', `/notifications/${accepted.notificationId}`);
    const { notification } = shown.body;
    return ['DELIVERED', 'FAILED'].includes(notification?.status) ? notification : null;
  });
  return { record, raw: sink.mails.findLast(({ to }) => to[0] === recipient)?.raw ?? '' };
}

const headerOf = (raw: string, name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(raw)?.[1] ?? null;

/** Of the mail's address, without what stands before it in a proxy. */
async function linkTo(recipient: string, of = tenant): Promise<string> {
  const { raw } = await sent(recipient, {}, of);
  const url = /^<(.+)>$/.exec(headerOf(raw, 'list-unsubscribe') ?? '')?.[1] ?? '';
  expect(url).toMatch(/^https:\/\/herald\.test\/notifications\/api\/v1\/unsubscribe\/[\w-]+$/);
  return url.slice(publicUrl.length);
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const oneClick = (
  path: string,
  headers: Record<string, string> = form,
  body = 'List-Unsubscribe=One-Click',
  to = app,
) => to.call('POST', path, headers, body);
const suppressed = async (of = tenant) =>
  (await of.dashboard('GET', '/suppressions')).body.data.map((one: { recipient: string }) => one.recipient);

describe('a mail of priority BULK', () => {
  it('says in its header how to unsubscribe, and that one click is enough', async () => {
    const { raw } = await sent('ada@example.com');
    expect(headerOf(raw, 'list-unsubscribe')).toMatch(/^<https:\/\/[^<>\s]+>$/);
    expect(headerOf(raw, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    expect(headerOf(raw, 'list-unsubscribe')).not.toMatch(/ada@|example\.com/);
  });

  it('doesn’t where it is transactional, and no other mail does', async () => {
    for (const more of [{ transactional: true }, { priority: 'HIGH' }, { priority: 'DEFAULT' }])
      expect([more, headerOf((await sent('eve@example.com', more)).raw, 'list-unsubscribe')]).toEqual([more, null]);
  });

  it('names the tenant’s own address where its provider’s settings have one', async () => {
    const own = await shopOf(app, 'with-its-own', {
      unsubscribeUrl: 'https://shop.test/off?who={recipient}&of={notificationId}',
    });
    const { raw, record } = await sent('a+b&c@example.com', {}, own);
    expect(headerOf(raw, 'list-unsubscribe')).toBe(
      `<https://shop.test/off?who=a%2Bb%26c%40example.com&of=${record.id}>`,
    );
    expect(headerOf(raw, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  });

  it.each([
    'http://shop.test/{recipient}',
    'https://shop.test/off',
    'https://shop.test/<{recipient}>',
    'nonsense {recipient}',
  ])('isn’t to name %s', async (unsubscribeUrl) => {
    const config = { fromName: 'S', fromEmail: 's@example.com', host: '127.0.0.1', port: sink.port, unsubscribeUrl };
    const given = { channel: 'EMAIL', provider: 'smtp', apiKey: 'p', config, enabled: true };
    const { status, body } = await (await app.tenant('wrong')).dashboard('POST', '/providers', given);
    expect([status, body.details[0].path]).toEqual([400, 'config.unsubscribeUrl']);
  });
});

describe('a recipient that unsubscribes', () => {
  it('by a mail program’s POST gets nothing more but what is transactional, and is on the list for that', async () => {
    const path = await linkTo('bob@example.com');
    const { status, body } = await oneClick(path);
    expect([status, typeof body.message]).toEqual([200, 'string']);
    const [entry] = (await tenant.dashboard('GET', '/suppressions')).body.data;
    expect(entry).toMatchObject({ channel: 'EMAIL', recipient: 'bob@example.com', reason: 'unsubscribe' });
    const { record } = await sent('BOB@example.com', { priority: 'HIGH' });
    expect(record).toMatchObject({
      status: 'FAILED',
      attempts: [{ errorClass: 'recipient', errorCode: 'SUPPRESSED' }],
    });
    expect((await sent('bob@example.com', { transactional: true })).record.status).toBe('DELIVERED');
  });

  it('may do it as often as it likes, and later again once its tenant has released it', async () => {
    const path = await linkTo('carl@example.com');
    for (const { status } of await Promise.all([1, 2, 3].map(() => oneClick(path)))) expect(status).toBe(200);
    const entries = (await tenant.dashboard('GET', '/suppressions')).body.data;
    const [entry, ...more] = entries.filter((one: { recipient: string }) => one.recipient === 'carl@example.com');
    expect(more).toEqual([]);
    expect((await tenant.dashboard('DELETE', `/suppressions/${entry.id}`)).status).toBe(200);
    expect((await sent('carl@example.com')).record.status).toBe('DELIVERED');
    expect((await oneClick(path)).status).toBe(200);
    expect(await suppressed()).toContain('carl@example.com');
  });

  it('may send the form in parts, as the RFC prefers it', async () => {
    const path = await linkTo('dora@example.com');
    const parts = new FormData();
    parts.append('List-Unsubscribe', 'One-Click');
    const encoded = new Response(parts);
    const type = encoded.headers.get('content-type') ?? '';
    expect((await oneClick(path, { 'content-type': type }, await encoded.text())).status).toBe(200);
    expect(await suppressed()).toContain('dora@example.com');
  });

  it('is the tenant’s whose mail it was, and no other’s', async () => {
    const other = await shopOf(app, 'another-shop');
    await oneClick(await linkTo('fay@example.com', other));
    expect(await suppressed(other)).toEqual(['fay@example.com']);
    expect(await suppressed()).not.toContain('fay@example.com');
  });

  it('is one that a full list of what people enter still takes', async () => {
    const options: AppOptions = {
      publicUrl,
      replace: ({ suppressions }) => ({ suppressions: { ...suppressions, count: () => 10_000 } }),
    };
    const full = await startApp(options);
    try {
      const own = await shopOf(full, 'full');
      const path = await linkTo('gil@example.com', own);
      expect((await oneClick(path, form, undefined, full)).status).toBe(200);
      const entered = { channel: 'EMAIL', recipient: 'hal@example.com' };
      expect((await own.dashboard('POST', '/suppressions', entered)).status).toBe(409);
    } finally {
      await full.close();
    }
  });
});

describe('whoever only looks', () => {
  it('unsubscribes nobody: a GET shows a page with a button, a HEAD nothing at all', async () => {
    const path = await linkTo('ida@example.com');
    const { status, headers, body } = await app.call('GET', path, { accept: 'text/html' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('set-cookie')).toBeNull();
    expect(String(body)).toContain('<form method="post">');
    expect(String(body)).not.toMatch(/<script|ida@|style/);
    const head = await app.call('HEAD', path, {});
    expect([head.status, head.body]).toEqual([200, '']);
    expect(await suppressed()).not.toContain('ida@example.com');
  });

  it('unsubscribes with the button of the page, and is told so on a page', async () => {
    const path = await linkTo('jo@example.com');
    const page = String((await app.call('GET', path, { accept: 'text/html' })).body);
    const [, name = '', value = ''] = /type="hidden" name="([^"]+)" value="([^"]+)"/.exec(page) ?? [];
    const done = await oneClick(
      path,
      { ...form, accept: 'text/html,*/*' },
      String(new URLSearchParams({ [name]: value })),
    );
    expect([done.status, String(done.body)]).toEqual([200, expect.stringContaining('You are unsubscribed')]);
    expect(await suppressed()).toContain('jo@example.com');
  });

  it('with a POST that says something else, or nothing, unsubscribes nobody', async () => {
    const path = await linkTo('kim@example.com');
    for (const [headers, body] of [
      [{}, undefined],
      [form, ''],
      [form, 'List-Unsubscribe=Maybe'],
      [form, 'x=List-Unsubscribe=One-Click'],
      [{ 'content-type': 'application/json' }, '{"List-Unsubscribe":"One-Click"}'],
    ] as const) {
      const reply = await app.call('POST', path, headers, body);
      expect(reply).toMatchObject({ status: 400, body: { details: [{ path: 'List-Unsubscribe' }] } });
    }
    expect((await oneClick(path, form, 'x'.repeat(5000))).status).toBe(413);
    expect(await suppressed()).not.toContain('kim@example.com');
  });
});

describe('an address that isn’t ours', () => {
  it('is 404 in the shape of every error, forged or of another installation', async () => {
    const path = await linkTo('lea@example.com');
    const elsewhere = createUnsubscribeLinks('', 'another secret');
    const who = { tenantId: tenant.id, notificationId: 'notif_1', recipient: 'lea@example.com' };
    const forged = [
      `${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`,
      elsewhere.urlOf(who as never) ?? '',
      '/api/v1/unsubscribe/nonsense',
      `/api/v1/unsubscribe/${'A'.repeat(4000)}`,
    ];
    for (const address of forged) {
      for (const reply of [await oneClick(address), await app.call('GET', address, { accept: 'text/html' })]) {
        expect(reply).toMatchObject({ status: 404, body: { code: 'NOT_FOUND', details: [] } });
        expect(reply.body.requestId).toMatch(/^req_/);
      }
    }
    const put = await app.call('PUT', path, {});
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    expect(await suppressed()).not.toContain('lea@example.com');
  });

  it('is asked for 1,000 times in a minute by one client, by whomever it is passed on', async () => {
    const limited = await startApp({ delivers: false, trustedProxies: ['127.0.0.0/8'] });
    try {
      const ask = (client: string) =>
        limited.call('GET', '/api/v1/unsubscribe/nonsense', { 'x-forwarded-for': client }).then(({ status }) => status);
      const statuses = new Set<number>();
      for (let i = 0; i < 10; i++)
        for (const status of await Promise.all(Array.from({ length: 100 }, () => ask('203.0.113.7'))))
          statuses.add(status);
      expect([...statuses]).toEqual([404]);
      expect([await ask('203.0.113.7'), await ask('203.0.113.8')]).toEqual([429, 404]);
    } finally {
      await limited.close();
    }
  });

  it('never shows in a line of the log, nor does whom it means', async () => {
    const path = await linkTo('max@example.com');
    await oneClick(path);
    const lines = app.lines.map((line) => JSON.stringify(line));
    const ours = lines.filter((line) => line.includes('/unsubscribe/'));
    expect(ours.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line).not.toContain(path.split('/').at(-1));
      expect(line).not.toContain('max@example.com');
    }
  });
});
