// Sealed secrets that were tampered with: refused, said as class `credentials`, mended by saving again, and never a 500.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { StoredProvider } from '../../src/ports/settings-store.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

let app: App;
let sink: HttpSink;
let victim: Tenant;

beforeAll(async () => {
  app = await startApp();
  sink = await startHttpSink();
  victim = await app.tenant('sealed-victim');
  await saveKeys(victim, 'of the victim, whole');
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

const bullets = '••••••';

async function saveKeys(tenant: Tenant, secret: string) {
  const webhook = { channel: 'WEBHOOK', provider: 'custom', apiKey: `signing secret ${secret}`, config: {} };
  const sms = {
    channel: 'SMS',
    provider: 'twilio',
    apiKey: `auth-token-${secret.replaceAll(/\W+/g, '-')}`,
    config: { from: '+15005550006', accountSid: `AC${'0'.repeat(32)}` },
  };
  for (const sent of [webhook, sms]) expect((await tenant.dashboard('POST', '/providers', sent)).status).toBe(200);
}

const settingsOf = async (tenant: Tenant) => {
  const settings = await app.deps.settings.settings(tenant.id as never);
  if (settings === null) throw new Error('no settings');
  return settings;
};

async function webhookOf(tenant: Tenant): Promise<StoredProvider> {
  const found = (await settingsOf(tenant)).providers.find(({ channel }) => channel === 'WEBHOOK');
  if (found === undefined) throw new Error('no provider');
  return found;
}

/** One byte of the envelope's body, counted from its beginning or, below 0, from its end. */
function flipped(sealed: string, at: number): string {
  const [version, keyId, body = ''] = sealed.split('.');
  const bytes = Buffer.from(body, 'base64url');
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return [version, keyId, bytes.toString('base64url')].join('.');
}

async function comesTo(tenant: Tenant, id: string, status: string) {
  return until(
    async () => {
      const { body } = await tenant.dashboard('GET', `/notifications/${id}/attempts`);
      return body.notification?.status === status && body;
    },
    { what: `${id} to be ${status}` },
  );
}

const tampering: Record<string, (sealed: string) => string | Promise<string>> = {
  'its nonce changed': (sealed) => flipped(sealed, 0),
  'its text changed': (sealed) => flipped(sealed, 12),
  'its tag changed': (sealed) => flipped(sealed, -1),
  'its tag cut off': (sealed) => sealed.slice(0, -22),
  'another key id': (sealed) => sealed.replace(/^v1\.[0-9a-f]{8}/, 'v1.00000000'),
  'another version': (sealed) => sealed.replace(/^v1/, 'v2'),
  'nothing in it': () => '',
  "another tenant's key copied over": async () => (await webhookOf(victim)).sealedApiKey,
  'the key of another channel copied over': () => '',
};

describe('a sealed key of a provider', () => {
  it.each(Object.entries(tampering))('with %s is refused and mended by saving it again', async (what, tamper) => {
    const tenant = await app.tenant(`sealed ${what}`);
    await saveKeys(tenant, 'of this tenant');
    const stored = await webhookOf(tenant);
    const ofSms = (await settingsOf(tenant)).providers.find(({ channel }) => channel === 'SMS')?.sealedApiKey ?? '';
    const sealedApiKey = what.includes('another channel') ? ofSms : await tamper(stored.sealedApiKey);
    await app.deps.settings.saveProvider({ ...stored, sealedApiKey });
    app.deps.directory.forget(stored.tenantId);

    const listed = await tenant.dashboard('GET', '/providers');
    expect(listed.status).toBe(200);
    const keys = Object.fromEntries(
      listed.body.map((one: { channel: string; apiKey: string }) => [one.channel, one.apiKey]),
    );
    expect(keys).toEqual({ SMS: 'aut••••••nant', WEBHOOK: bullets });

    const webhook = { channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'b' };
    const sent = await tenant.notify(webhook);
    expect(sent.status).toBe(202);
    const { attempts } = await comesTo(tenant, sent.body.notificationId, 'FAILED');
    expect(attempts).toMatchObject([
      { attemptNumber: 1, errorClass: 'credentials', errorCode: 'KEY_UNREADABLE', nextRetryAt: null },
    ]);

    const tested = await tenant.dashboard('POST', '/providers/WEBHOOK/test', { recipient: `${sink.url}/test` });
    expect([tested.status, tested.body]).toEqual([
      200,
      { success: false, error: expect.stringContaining('save the provider again') },
    ]);

    const masked = { channel: 'WEBHOOK', provider: 'custom', apiKey: bullets, config: {} };
    const kept = await tenant.dashboard('POST', '/providers', masked);
    expect([kept.status, kept.body.details]).toEqual([
      400,
      [{ path: 'apiKey', message: expect.stringContaining('send it whole') }],
    ]);
    await saveKeys(tenant, 'given once more');
    const again = await tenant.notify(webhook);
    await comesTo(tenant, again.body.notificationId, 'DELIVERED');
    expect(app.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('that was replaced and cannot be opened keeps no message from being signed with the one in use', async () => {
    const tenant = await app.tenant('sealed former key');
    await saveKeys(tenant, 'one');
    const stored = await webhookOf(tenant);
    await app.deps.settings.saveProvider({ ...stored, sealedPreviousApiKey: 'v1.00000000.AAAA' });
    app.deps.directory.forget(stored.tenantId);
    const sent = await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/former`, body: 'b' });
    await comesTo(tenant, sent.body.notificationId, 'DELIVERED');
    const request = sink.requests.find(({ path }) => path === '/former');
    expect(String(request?.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });
});

describe("a tenant's own sealed secrets", () => {
  it('that cannot be opened are shown as bullets; its key goes on working, and a new one can be had', async () => {
    const tenant = await app.tenant('sealed own');
    const { keys, tenant: stored } = await settingsOf(tenant);
    const spoilt = new Map(
      [...keys.map(({ sealedKey }) => sealedKey), stored.sealedWebhookSecret].map((sealed) => [
        sealed,
        flipped(sealed, 20),
      ]),
    );
    expect(await app.deps.settings.replaceSealed(stored.id, spoilt)).toBe(2);
    app.deps.directory.forget(stored.id);

    const shown = await tenant.dashboard('GET', '/tenant');
    expect([shown.status, shown.body.apiKey, shown.body.webhookSecret]).toEqual([200, bullets, bullets]);
    const provisioned = await tenant.dashboard('POST', '/auth/provision-tenant');
    expect([provisioned.status, provisioned.body.apiKey, provisioned.body.tenant.apiKey]).toEqual([
      200,
      bullets,
      bullets,
    ]);
    expect((await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'b' })).status).toBe(202);

    const unsigned = await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/own`, body: 'b' });
    const { attempts } = await comesTo(tenant, unsigned.body.notificationId, 'FAILED');
    expect(attempts).toMatchObject([{ errorClass: 'credentials' }]);
    await saveKeys(tenant, 'of its own');
    const signed = await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/own`, body: 'b' });
    await comesTo(tenant, signed.body.notificationId, 'DELIVERED');

    const { body } = await tenant.dashboard('POST', '/auth/regenerate-key');
    expect((await tenant.dashboard('GET', '/tenant')).body.apiKey).toBe(body.apiKey);
  });
});
