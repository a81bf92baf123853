// What another process has saved of a tenant that this one knows already: nothing is refused, and nothing ends, by what this one still has in memory.

import { createHmac } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { saveProvider } from '../../src/commands/save-provider.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const goodKey = 'key-that-holds-1234';
const signingKey = 'a-signing-key-of-the-tests';
let app: App;
let mailgun: HttpSink;
let tenant: Tenant;
let tenants = 0;

beforeAll(async () => {
  mailgun = await startHttpSink({
    respond(request, response) {
      const isKnown = request.headers['authorization'] === `Basic ${btoa(`api:${goodKey}`)}`;
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      response.end(isKnown ? '{"id":"<m@mg.example.com>","message":"Queued"}' : '{"message":"Forbidden"}');
    },
  });
  app = await startApp({ providerUrls: { mailgun: mailgun.url }, settingsLookMs: 3_600_000 });
});
afterAll(async () => {
  await app.close();
  await mailgun.close();
});
beforeEach(async () => {
  tenant = await app.tenant(`owner-${++tenants}`, { email: 'owner@example.com' });
});

/** As another process does: this one isn't told. */
async function saveElsewhere(of: { readonly apiKey: string; readonly callbackSecret?: string }): Promise<void> {
  const directory = { ...app.deps.directory, forget: () => undefined };
  await saveProvider({ ...app.deps, directory })({
    tenantId: tenant.id as TenantId,
    actor: 'owner',
    channel: 'EMAIL',
    role: 'primary',
    provider: 'mailgun',
    config: { fromName: 'Shop', fromEmail: 'shop@example.com', domain: 'mg.example.com' },
    enabled: true,
    ...of,
  });
}

const mail = { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's', body: 'b' };

async function endOf(notificationId: string) {
  const shown = () => tenant.dashboard('GET', `/notifications/${notificationId}/attempts`);
  return until(
    async () => {
      const { notification, attempts } = (await shown()).body;
      return ['DELIVERED', 'FAILED'].includes(notification?.status) ? { notification, attempts } : null;
    },
    { what: 'an end' },
  );
}

describe('a first provider that another process has saved a moment ago', () => {
  beforeEach(async () => {
    expect((await tenant.notify(mail)).status).toBe(422);
    await saveElsewhere({ apiKey: goodKey, callbackSecret: signingKey });
  });

  it('is accepted for, and delivered by', async () => {
    const { status, body } = await tenant.notify(mail);
    expect(status).toBe(202);
    expect((await endOf(body.notificationId)).notification.status).toBe('DELIVERED');
  });

  it('is tested', async () => {
    expect((await tenant.dashboard('POST', '/providers/EMAIL/test')).body).toEqual({ success: true });
  });

  it('may report', async () => {
    const { body } = await tenant.dashboard('GET', '/providers');
    const path = String(body[0].callbackUrl).slice('https://herald.test'.length);
    const [timestamp, token] = [String(Math.floor(Date.now() / 1000)), 'a token'];
    const sign = (key: string) =>
      createHmac('sha256', key)
        .update(timestamp + token)
        .digest('hex');
    const report = (key: string) =>
      app.call(
        'POST',
        path,
        {},
        {
          signature: { timestamp, token, signature: sign(key) },
          'event-data': { id: 'event-1', event: 'accepted', timestamp: Date.now() / 1000 },
        },
      );
    expect((await report(signingKey)).status).toBe(200);
    expect((await report('another key')).status).toBe(401);
  });
});

describe('a key that another process has replaced a moment ago', () => {
  beforeEach(async () => {
    await saveElsewhere({ apiKey: 'key-that-was-revoked' });
    expect((await tenant.dashboard('POST', '/providers/EMAIL/test')).body.success).toBe(false);
  });

  it('ends no mail that it was refused for: the next attempt is made by the new one', async () => {
    await saveElsewhere({ apiKey: goodKey });
    const { body } = await tenant.notify(mail);
    const { notification, attempts } = await endOf(body.notificationId);
    expect(notification.status).toBe('DELIVERED');
    expect(attempts).toMatchObject([{ errorClass: 'credentials' }, { errorClass: null }]);
  });

  it('is refused for good where it still is the one that is stored', async () => {
    const { body } = await tenant.notify(mail);
    const { notification, attempts } = await endOf(body.notificationId);
    expect(notification.status).toBe('FAILED');
    expect(attempts).toMatchObject([{ errorClass: 'credentials' }]);
  });
});
