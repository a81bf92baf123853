// The limit on notifications, and what happens when a part of the service is away.

import { afterEach, describe, expect, it } from '@jest/globals';

import type { TemplateId, TenantId } from '../../src/domain/ids.ts';
import { storedTemplate } from '../contracts/settings-store.ts';
import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { startHttpSink } from '../support/http-sink.ts';

const inApp = { channel: 'IN_APP', recipient: 'user-1', body: 'World' };

let app: App | null = null;

const start = async (options: AppOptions): Promise<App> => {
  app = await startApp({ delivers: false, ...options });
  return app;
};

afterEach(async () => {
  await app?.close();
  app = null;
});

describe('the limit of a tenant', () => {
  it('lets exactly so many of parallel requests through, tells how long to wait, and leaves others alone', async () => {
    const { tenant } = await start({ options: { rateLimit: { limit: 10, windowMs: 10_000 } } });
    const [a, b] = [await tenant('a'), await tenant('b')];
    const replies = await Promise.all(Array.from({ length: 40 }, () => a.notify(inApp)));
    const accepted = replies.filter((reply) => reply.status === 202);
    const refused = replies.filter((reply) => reply.status === 429);
    expect([accepted.length, refused.length]).toEqual([10, 30]);
    for (const { headers, body } of refused) {
      expect(body.code).toBe('TOO_MANY_REQUESTS');
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    }
    const left = accepted.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]));
    expect(left.sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(accepted[0]?.headers.get('ratelimit-policy')).toBe('"default";q=10;w=10');
    expect((await b.notify(inApp)).status).toBe(202);
    expect((await a.withKey('GET', '/notify/inapp/user-1')).status).toBe(200);
  });

  it('counts a 400 and neither a 401 nor a GET', async () => {
    const started = await start({ options: { rateLimit: { limit: 2, windowMs: 10_000 } } });
    const a = await started.tenant('a');
    await started.call('POST', '/api/v1/notify', { 'x-api-key': 'nk_wrong' }, inApp);
    await a.withKey('GET', '/notify/inapp/user-1');
    const bad = await a.notify({});
    expect(bad.status).toBe(400);
    expect(bad.headers.get('ratelimit')).toMatch(/^"default";r=1;/);
    expect((await a.notify(inApp)).status).toBe(202);
    expect((await a.notify('x', { 'content-type': 'text/plain' })).status).toBe(429);
  });
});

describe('a limit of requests', () => {
  it('counts retries and tests of a provider as it does notifications, before anything is looked at', async () => {
    const started = await start({ options: { rateLimit: { limit: 4, windowMs: 10_000 } } });
    const [a, b] = [await started.tenant('a'), await started.tenant('b')];
    const replies = [
      await a.notify(inApp),
      await a.dashboard('POST', '/notifications/notif_00000000000000000000000000/retry'),
      await a.dashboard('POST', '/providers/SMS/test', { recipient: '+4915112345678' }),
      await a.dashboard('POST', '/providers/NONE/test'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([202, 404, 200, 400]);
    expect(replies.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).toEqual(['r=3', 'r=2', 'r=1', 'r=0']);
    expect(replies[2]?.headers.get('ratelimit-policy')).toBe('"default";q=4;w=10');
    for (const path of ['/notifications/notif_00000000000000000000000000/retry', '/providers/SMS/test']) {
      const { status, headers, body } = await a.dashboard('POST', path, 'x', { 'content-type': 'text/plain' });
      expect([status, body.code]).toEqual([429, 'TOO_MANY_REQUESTS']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(headers.get('ratelimit')).toMatch(/^"default";r=0;/);
    }
    expect((await a.notify(inApp)).status).toBe(429);
    expect((await a.dashboard('GET', '/notifications')).status).toBe(200);
    expect((await b.dashboard('POST', '/providers/SMS/test')).status).toBe(200);
    expect((await b.notify(inApp)).status).toBe(202);
  });

  it('lets exactly so many of parallel tests of a provider reach the receiver', async () => {
    const sink = await startHttpSink();
    const { tenant } = await start({ options: { rateLimit: { limit: 5, windowMs: 10_000 } } });
    const a = await tenant('a');
    const test = () => a.dashboard('POST', '/providers/WEBHOOK/test', { recipient: sink.url });
    const replies = await Promise.all(Array.from({ length: 30 }, test));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(25);
    expect(sink.requests).toHaveLength(5);
    await sink.close();
  });

  it('of changes holds for whatever writes and sends nothing, by tenant, or by person where there is no tenant yet', async () => {
    const started = await start({ options: { writeLimit: { limit: 2, windowMs: 10_000 } } });
    const [a, b] = [await started.tenant('a'), await started.tenant('b')];
    const sms = { name: 'code', channel: 'SMS', body: 'x' };
    expect((await a.dashboard('POST', '/templates', sms)).status).toBe(201);
    expect((await a.withKey('POST', '/notify/inapp/user-1/read')).status).toBe(200);
    const { status, headers, body } = await a.dashboard('POST', '/keys', { name: 'k', scopes: ['read'] });
    expect([status, body.error]).toEqual([429, expect.stringMatching(/^The limit of changes is reached/)]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await a.withKey('POST', '/notify/inapp/user-1/read')).status).toBe(429);
    expect((await a.notify(inApp)).status).toBe(202);
    expect((await a.dashboard('GET', '/templates')).status).toBe(200);
    expect((await b.dashboard('POST', '/templates', sms)).status).toBe(201);
    expect((await a.dashboard('POST', '/auth/provision-tenant')).status).toBe(200);
    expect((await a.dashboard('POST', '/auth/provision-tenant')).status).toBe(429);
    expect((await b.dashboard('POST', '/auth/provision-tenant')).status).toBe(200);
  });
});

describe('the settings of a tenant', () => {
  it('hold 1,000 templates, and one more when one has gone', async () => {
    const { tenant, deps } = await start({});
    const a = await tenant('a');
    const make = (name: string) => a.dashboard('POST', '/templates', { name, channel: 'SMS', body: 'x' });
    const { body: first } = await make('first');
    for (let i = 1; i < 999; i++) {
      const id = `tpl_${i}` as TemplateId;
      await deps.settings.createTemplate(storedTemplate({ id, tenantId: a.id as TenantId, name: `n${i}` }), 1000);
    }
    // Of those that race for the last place one gets it.
    const raced = await Promise.all(['x', 'y', 'z'].map(make));
    expect(raced.map(({ status }) => status).toSorted((x, y) => x - y)).toEqual([201, 409, 409]);
    const { status, body } = await make('one-more');
    expect([status, body.code, body.error]).toEqual([409, 'CONFLICT', expect.stringContaining('1000 templates')]);
    await a.dashboard('DELETE', `/templates/${first.id}`);
    expect((await make('one-more')).status).toBe(201);
  }, 30_000);

  it('let 5 former keys hold beside the new one, refuse the next with a grace period, and end all without one', async () => {
    const { tenant, call } = await start({});
    const a = await tenant('a');
    const keys = [a.apiKey];
    const regenerate = (graceSeconds?: number) =>
      a.dashboard('POST', '/auth/regenerate-key', graceSeconds === undefined ? undefined : { graceSeconds });
    for (let i = 0; i < 5; i++) keys.push((await regenerate(3600)).body.apiKey);
    const refused = await regenerate(3600);
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT']);
    const statusOf = async (key: string) =>
      (await call('GET', '/api/v1/notify/inapp/user-1', { 'x-api-key': key })).status;
    for (const key of keys) expect(await statusOf(key)).toBe(200);
    const { status, body } = await regenerate();
    expect(status).toBe(200);
    for (const key of keys) expect(await statusOf(key)).toBe(401);
    expect(await statusOf(body.apiKey)).toBe(200);
  });
});

describe('a part that is away', () => {
  it('the log that refuses: 503 with Retry-After, nothing was accepted', async () => {
    const { tenant } = await start({
      replace: ({ log }) => ({ log: { ...log, append: async () => ({ kind: 'refused', reason: 'full' }) } }),
    });
    const { status, headers, body } = await (await tenant('a')).notify(inApp);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body).toMatchObject({ code: 'SERVICE_UNAVAILABLE', error: expect.stringContaining('Nothing was accepted') });
  });

  it('the log that does not answer: 503 says that it may have been accepted', async () => {
    const { tenant } = await start({
      replace: ({ log }) => ({ log: { ...log, append: async () => ({ kind: 'unknown', reason: 'lost' }) } }),
    });
    const { status, body } = await (await tenant('a')).notify(inApp);
    expect(status).toBe(503);
    expect(body.error).toContain('may have been accepted');
  });

  it('the settings: an unknown key gets 503, not 401', async () => {
    const away = () => Promise.reject(new Error('the disk is gone'));
    const { call, lines } = await start({
      replace: ({ directory }) => ({ directory: { ...directory, holderOfApiKey: away } }),
    });
    const { status, body } = await call('POST', '/api/v1/notify', { 'x-api-key': 'nk_any' }, inApp);
    expect(status).toBe(503);
    expect(JSON.stringify(body)).not.toContain('disk');
    expect(lines.some((line) => line.level === 'warn' && String(line.fields['err']).includes('disk'))).toBe(true);
  });

  it('the read models: queries get 503, notifications are accepted all the same', async () => {
    const away = () => Promise.reject(new Error('the disk is gone'));
    const { tenant } = await start({ replace: ({ reader }) => ({ reader: { ...reader, get: away, find: away } }) });
    const a = await tenant('a');
    expect((await a.withKey('GET', '/notify/inapp/user-1')).status).toBe(503);
    expect((await a.dashboard('GET', '/notifications')).status).toBe(503);
    expect((await a.notify(inApp)).status).toBe(202);
  });

  it('a bug: 500 that says nothing of itself, and a log line with the same request id', async () => {
    const broken = () => Promise.reject(new TypeError('secret internals'));
    const { tenant, lines } = await start({ replace: ({ reader }) => ({ reader: { ...reader, get: broken } }) });
    const { status, body } = await (await tenant('a')).withKey('GET', '/notify/notif_00000000000000000000000000');
    expect(status).toBe(500);
    expect(body.code).toBe('INTERNAL_SERVER_ERROR');
    expect(JSON.stringify(body)).not.toContain('internals');
    expect(lines.find((line) => line.level === 'error')?.fields['requestId']).toBe(body.requestId);
  });

  it('the identity provider: 503', async () => {
    const { person } = await start({
      replace: () => ({ tokenKeys: { keyFor: () => Promise.reject(new Error('no route')) } }),
    });
    const { status } = await (await person('a')).dashboard('GET', '/tenant');
    expect(status).toBe(503);
  });
});

describe('the log lines', () => {
  it('are one per request, at debug for an accepted notification, and hold no key, no token and no recipient', async () => {
    const { tenant, lines, call } = await start({});
    const a = await tenant('a');
    lines.length = 0;
    await a.notify({ ...inApp, recipient: 'recipient-of-the-test' });
    await a.withKey('GET', '/notify/inapp/recipient-of-the-test');
    await call('GET', `/api/v1/tenant?token=${a.token}`, {});
    const requests = lines.filter((line) => line.message === 'request');
    expect(requests.map(({ level, fields }) => [level, fields['method'], fields['route'], fields['status']])).toEqual([
      ['debug', 'POST', '/notify', 202],
      ['info', 'GET', '/notify/inapp/:userId', 200],
      ['info', 'GET', '/tenant', 401],
    ]);
    expect(requests.slice(0, 2).map(({ fields }) => fields['tenantId'])).toEqual([a.id, a.id]);
    const text = JSON.stringify(lines);
    for (const secret of [a.apiKey, a.token, 'recipient-of-the-test']) expect(text).not.toContain(secret);
  });
});
