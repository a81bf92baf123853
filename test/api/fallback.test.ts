// A channel's second provider: how it is saved, shown, tried and removed, and what the records say of an outage.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const sender = { fromName: 'Shop', fromEmail: 'shop@example.com' };
const first = { channel: 'EMAIL', provider: 'resend', apiKey: 're_0123456789abcdef', config: sender };
const second = {
  channel: 'EMAIL',
  role: 'fallback',
  provider: 'sendgrid',
  apiKey: 'SG.0123456789abcdef',
  config: sender,
};

let app: App;
let resend: HttpSink;
let sendgrid: HttpSink;
let resendStatus = 200;
let sendgridStatus = 202;
let owners = 0;
let tenant: Tenant;

beforeAll(async () => {
  resend = await startHttpSink({
    respond: (_, response) =>
      response
        .writeHead(resendStatus, { 'content-type': 'application/json' })
        .end('{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}'),
  });
  sendgrid = await startHttpSink({
    respond: (_, response) => response.writeHead(sendgridStatus, { 'x-message-id': 'sg-1' }).end(),
  });
  const retryDelaysMs = [50, 50, 50, 50, 50, 50];
  app = await startApp({ retryDelaysMs, providerUrls: { resend: resend.url, sendgrid: sendgrid.url } });
});
afterAll(async () => {
  await app.close();
  await resend.close();
  await sendgrid.close();
});
beforeEach(async () => {
  tenant = await app.tenant(`owner-${owners++}`, { email: 'owner@example.com' });
});
afterEach(() => {
  resendStatus = 200;
  sendgridStatus = 202;
});

const save = (body: object) => tenant.dashboard('POST', '/providers', body);
const listed = async () => (await tenant.dashboard('GET', '/providers')).body as Record<string, unknown>[];

describe('a fallback', () => {
  it('is saved beside the first provider, its key sealed by itself, and listed behind it', async () => {
    expect((await save(second)).body).toMatchObject({ role: 'fallback', provider: 'sendgrid', breaker: 'closed' });
    const saved = await save(first);
    expect(saved.body).toMatchObject({ role: 'primary', provider: 'resend', breaker: 'closed' });
    const all = await listed();
    expect(all.map(({ id, role, provider }) => [id, role, provider])).toEqual([
      [`${tenant.id}:EMAIL`, 'primary', 'resend'],
      [`${tenant.id}:EMAIL:fallback`, 'fallback', 'sendgrid'],
    ]);
    expect(JSON.stringify(all)).not.toContain('0123456789');
    const stored = (await app.deps.settings.settings(tenant.id as never))?.providers ?? [];
    const sealed = stored.map(({ sealedApiKey }) => sealedApiKey);
    const open = (text: string | undefined, context: string) => app.deps.secretBox.open(text ?? '', context);
    expect(open(sealed[1], `${tenant.id}:EMAIL:fallback`)).toBe(second.apiKey);
    expect(() => open(sealed[1], `${tenant.id}:EMAIL`)).toThrow();
  });

  it('keeps its own key by its mask, never the first one’s, and only while it goes where it went', async () => {
    await save(first);
    const masked = '••••••';
    expect((await save({ ...second, apiKey: masked })).body.details).toMatchObject([{ path: 'apiKey' }]);
    await save(second);
    expect((await save({ ...second, apiKey: masked, enabled: false })).body).toMatchObject({ enabled: false });
    const elsewhere = await save({ ...second, apiKey: masked, config: { ...sender, region: 'eu' } });
    expect(elsewhere.status).toBe(400);
    expect(elsewhere.body.details).toMatchObject([{ path: 'apiKey' }]);
  });

  it.each([
    [{ ...second, channel: 'WEBHOOK', provider: 'custom', config: {} }, 'role'],
    [{ ...second, channel: 'IN_APP' }, 'channel'],
    [{ ...second, role: 'third' }, 'role'],
  ])('is for EMAIL and SMS alone', async (body, path) => {
    const { status, body: answer } = await save(body);
    expect(status).toBe(400);
    expect(answer.details).toMatchObject([{ path }]);
  });

  it('alone is no provider, and neither is it beside one that is disabled', async () => {
    await save(second);
    expect(
      (await tenant.notify({ channel: 'EMAIL', recipient: 'a@example.com', subject: 's', body: 'b' })).status,
    ).toBe(422);
    await save({ ...first, enabled: false });
    expect(
      (await tenant.notify({ channel: 'EMAIL', recipient: 'a@example.com', subject: 's', body: 'b' })).status,
    ).toBe(422);
  });

  it('is tried and deleted by its role, the first one by none', async () => {
    await save(first);
    expect((await tenant.dashboard('POST', '/providers/EMAIL/test?role=fallback')).body).toEqual({
      success: false,
      error: 'No enabled fallback provider is configured for EMAIL.',
    });
    await save(second);
    const before = sendgrid.requests.length;
    expect((await tenant.dashboard('POST', '/providers/EMAIL/test?role=fallback')).body).toEqual({ success: true });
    expect(sendgrid.requests).toHaveLength(before + 1);
    expect((await tenant.dashboard('DELETE', '/providers/EMAIL?role=neither')).status).toBe(400);
    expect((await tenant.dashboard('DELETE', '/providers/EMAIL?role=fallback')).body).toEqual({
      message: 'The fallback provider for EMAIL is deleted.',
    });
    expect((await tenant.dashboard('DELETE', '/providers/EMAIL?role=fallback')).status).toBe(404);
    expect((await listed()).map(({ role }) => role)).toEqual(['primary']);
  });
});

describe('an outage of the first provider', () => {
  const mail = async () => {
    const { body } = await tenant.notify({ channel: 'EMAIL', recipient: 'a@example.com', subject: 's', body: 'b' });
    return body.notificationId as string;
  };
  const recordOf = async (id: string) => (await tenant.dashboard('GET', `/notifications/${id}/attempts`)).body;
  const delivered = (id: string) =>
    until(
      async () => {
        const record = await recordOf(id);
        return record.notification?.status === 'DELIVERED' ? record : null;
      },
      { what: 'the delivery', timeoutMs: 30_000 },
    );

  it('shows in its breaker and in whom attempts were made by; the first takes it back, and is closed', async () => {
    await save(first);
    await save(second);
    resendStatus = 401;
    const { attempts } = await delivered(await mail());
    // On a busy machine a probe of the first may come between them.
    expect(attempts[0]).toMatchObject({
      provider: 'resend',
      role: 'primary',
      errorClass: 'credentials',
      status: 'FAILED',
    });
    expect(attempts.at(-1)).toMatchObject({ provider: 'sendgrid', role: 'fallback', status: 'DELIVERED' });
    await until(async () => (await listed())[0]?.['breaker'] !== 'closed', { what: 'the breaker', timeoutMs: 30_000 });
    expect((await listed())[1]).toMatchObject({ role: 'fallback', breaker: 'closed' });
    resendStatus = 200;
    await until(async () => (await delivered(await mail())).attempts[0].role === 'primary', {
      what: 'the first one again',
      timeoutMs: 60_000,
    });
    await until(async () => (await listed())[0]?.['breaker'] === 'closed', {
      what: 'a closed breaker',
      timeoutMs: 30_000,
    });
  });
});
