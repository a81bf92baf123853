// The limit on notifications, and what happens when a part of the service is away.

import { afterEach, describe, expect, it } from '@jest/globals';

import type { App, AppOptions } from '../support/app.ts';
import { startApp } from '../support/app.ts';

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
