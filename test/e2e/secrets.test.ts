// The encryption secret changes while the service runs: nothing is lost, nothing shows, and what was tampered with is refused.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import type { TenantId } from '../../src/domain/ids.ts';
import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import { recordOf } from '../support/records.ts';
import { withSettings } from '../support/stored-settings.ts';
import { until } from '../support/until.ts';

const oldSecret = 'the old encryption secret, of more than 32 characters';
const newSecret = 'the new encryption secret, of more than 32 characters';
const onOld = { ENCRYPTION_SECRET: oldSecret };
const onBoth = { ENCRYPTION_SECRET: newSecret, ENCRYPTION_SECRET_PREVIOUS: oldSecret };
const onNew = { ENCRYPTION_SECRET: newSecret };

let dataDir: DataDir;
let world: DeliveryWorld;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld();
});
afterAll(async () => {
  await world.close();
  await dataDir.remove();
});

const start = (secrets: Record<string, string>) => startHerald(dataDir, { ...world.environment, ...secrets });
const onAnother = { ENCRYPTION_SECRET: 'an encryption secret that sealed none of it' };
const adopt = (secrets: Record<string, string>) => command(['adopt'], { ...dataDir.environment, ...secrets });
const rotate = (secrets: Record<string, string>) => command(['rotate-secrets'], { ...dataDir.environment, ...secrets });
const saveWebhookSecret = (service: Herald, apiKey: string) =>
  service.dashboard('POST', '/providers', { channel: 'WEBHOOK', provider: 'custom', apiKey, config: {} });

/** All that the dashboard shows of secrets. */
async function shownBy(service: Herald) {
  const [tenant, providers, keys] = await Promise.all(
    ['/tenant', '/providers', '/keys'].map(async (path) => (await service.dashboard('GET', path)).body),
  );
  return { tenant, providers, keys };
}

async function deliver(service: Herald, body: Record<string, unknown>, status = 'DELIVERED') {
  const sent = await service.notify({ body: 'hello', ...body });
  expect(sent.status).toBe(202);
  return until(
    async () => {
      const record = await recordOf(service, String(sent.body['notificationId']));
      return record?.status === status && record;
    },
    { timeoutMs: 20_000, what: `${String(body['channel'])} to be ${status}` },
  );
}

/** The tenant's texts that are sealed, as they lie in the store. */
const sealedTexts = () =>
  withSettings(dataDir.environment, async (settings) => {
    const { tenantIds } = await settings.changesSince(1);
    const texts: string[] = [];
    for (const id of tenantIds)
      texts.push(...(JSON.stringify(await settings.settings(id)).match(/v1\.[\w.-]+/g) ?? []));
    return texts;
  });
const keyIds = async () => new Set((await sealedTexts()).map((sealed) => sealed.split('.')[1]));

describe('the encryption secret', () => {
  const signingSecret = 'the signing secret of the shop';
  let before: Awaited<ReturnType<typeof shownBy>>;
  let furtherKey: string;

  it('changes while the service runs on both and tenants save, and the old one is needed no more', async () => {
    const first = await start(onOld);
    await world.configure(first);
    await saveWebhookSecret(first, 'the signing secret before');
    await saveWebhookSecret(first, signingSecret);
    const made = await first.dashboard('POST', '/keys', { name: 'Reports', scopes: ['read'] });
    furtherKey = String(made.body['key']);
    before = await shownBy(first);
    await first.stop();
    const [oldKeyId] = await keyIds();

    const both = await start(onBoth);
    expect(await shownBy(both)).toEqual(before);
    await deliver(both, { channel: 'SMS', recipient: '+14155550123' });
    const saving = new AbortController();
    const busyTenant = (async () => {
      let saved = 0;
      while (!saving.signal.aborted) {
        const { status } = await saveWebhookSecret(both, '••••••');
        expect(status).toBe(200);
        saved++;
      }
      return saved;
    })();
    const { code, stdout, stderr } = await rotate(onBoth);
    saving.abort();
    expect(await busyTenant).toBeGreaterThan(0);
    expect([code, stderr.replace(/.*rotate-secrets: \d+ tenants done\n/s, '')]).toEqual([0, '']);
    expect(stdout).toMatch(/^1 tenants, 8 secrets: \d+ sealed anew, \d+ were already, 0 can't be opened\.\n/);
    expect(stdout).toContain('ENCRYPTION_SECRET_PREVIOUS is not needed any more');
    const ids = await keyIds();
    expect([ids.size, ids.has(oldKeyId)]).toEqual([1, false]);
    await both.stop();

    const after = await start(onNew);
    const shown = await shownBy(after);
    const steady = (all: typeof shown) => JSON.stringify(all).replaceAll(/"updatedAt":"[^"]+"/g, '');
    expect(steady(shown)).toBe(steady(before));
    expect(after.apiKey).toBe(String(before.tenant?.['apiKey']));
    await deliver(after, { channel: 'SMS', recipient: '+14155550123' });
    await deliver(after, { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's' });
    await deliver(after, { channel: 'WEBHOOK', recipient: `${world.webhooks.url}/rotated` });
    const request = world.webhooks.requests.find(({ path }) => path === '/rotated');
    const headers = request?.headers as Record<string, string>;
    const verifier = new Webhook(Buffer.from(signingSecret).toString('base64'));
    expect(() => verifier.verify(request?.body ?? '', headers)).not.toThrow();
    const byKey = await after.call('GET', '/api/v1/dashboard/stats', { headers: { 'x-api-key': furtherKey } });
    expect(byKey.status).toBe(200);
    await after.stop();
  }, 180_000);

  it('is changed by running the command again as by running it once', async () => {
    const { code, stdout } = await rotate(onBoth);
    expect(code).toBe(0);
    expect(stdout).toContain('0 sealed anew, 8 were already');
  });

  it('that is missing, or isn’t the one that sealed, is said so, and nothing is changed', async () => {
    const texts = await sealedTexts();
    const alone = await rotate(onNew);
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('ENCRYPTION_SECRET_PREVIOUS: is needed')]);
    const wrong = await rotate({
      ENCRYPTION_SECRET: 'yet another encryption secret of some length',
      ENCRYPTION_SECRET_PREVIOUS: 'a former encryption secret that sealed nothing',
    });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toContain("8 can't be opened");
    expect(wrong.stderr).toContain('key of the SMS provider');
    expect(`${wrong.stdout}${wrong.stderr}`).not.toMatch(/encryption secret (of|that)|v1\./);
    expect(await sealedTexts()).toEqual(texts);
  });

  it('was exchanged without a word: the start stops with a sentence', async () => {
    const environment = { ...dataDir.environment, PORT: '0', OPS_PORT: '0', ...onAnother };
    const { code, stderr } = await command(['serve'], environment);
    expect([code, stderr]).toEqual([1, expect.stringContaining('ENCRYPTION_SECRET is not the one that sealed')]);
  });

  it('was exchanged by a decision: what it sealed is refused as class credentials, and the service lives', async () => {
    expect((await adopt(onAnother)).code).toBe(0);
    const service = await start(onAnother);
    const { providers, tenant } = await shownBy(service);
    expect((providers as unknown as { apiKey: string }[]).map(({ apiKey }) => apiKey)).toEqual(Array(3).fill('••••••'));
    expect(tenant).toMatchObject({ apiKey: '••••••', webhookSecret: '••••••' });
    const apiKey = String(before.tenant?.['apiKey']);
    const sent = await service.notify({ channel: 'SMS', recipient: '+14155550123', body: 'b' }, apiKey);
    expect(sent.status).toBe(202);
    const path = `/notifications/${String(sent.body['notificationId'])}/attempts`;
    const attempts = await until(
      async () => {
        const { body } = await service.dashboard('GET', path);
        return (body['attempts'] as Record<string, unknown>[] | undefined)?.[0];
      },
      { timeoutMs: 20_000, what: 'the attempt' },
    );
    expect(attempts).toMatchObject({ status: 'FAILED', errorClass: 'credentials', errorCode: 'KEY_UNREADABLE' });
    await service.stop();
    expect((await adopt(onNew)).code).toBe(0);
  }, 120_000);
});

describe('a signing secret', () => {
  it('that is deleted, or was before another, is stored no longer than it signs', async () => {
    const service = await start(onNew);
    const [one, two] = ['the signing secret number one', 'the signing secret number two'];
    const stored = () =>
      withSettings(dataDir.environment, async (settings) => {
        const [id = '' as TenantId] = (await settings.changesSince(1)).tenantIds;
        return (await settings.settings(id))?.providers.find(({ channel }) => channel === 'WEBHOOK');
      });
    /** The 24 h are over; the service is started again, which is sooner than its next look. */
    const overIn = async (running: Herald): Promise<Herald> => {
      await running.stop();
      const found = await stored();
      if (found?.sealedPreviousApiKey == null) throw new Error('nothing signs as well');
      await withSettings(dataDir.environment, (settings) =>
        settings.saveProvider({ ...found, previousUntil: Date.now() - 1 }),
      );
      return start(onNew);
    };
    await saveWebhookSecret(service, one);
    await saveWebhookSecret(service, two);
    const second = await overIn(service);
    await until(async () => (await stored())?.sealedPreviousApiKey === null, { timeoutMs: 10_000, what: 'one to go' });
    expect(await stored()).toMatchObject({ provider: 'custom', previousUntil: null });
    expect((await second.dashboard('DELETE', '/providers/WEBHOOK')).status).toBe(200);
    const third = await overIn(second);
    await until(async () => (await stored()) === undefined, { timeoutMs: 10_000, what: 'what is deleted to go' });
    await saveWebhookSecret(third, one);
    expect(await third.stop()).toBe(0);
  }, 60_000);
});

describe('a sealed key', () => {
  it('that is changed in the store, or put into another tenant, fails its deliveries and nothing else', async () => {
    const service = await start(onNew);
    const tamper = (change: (sealed: string) => string) =>
      withSettings(dataDir.environment, async (settings) => {
        const [id = '' as TenantId] = (await settings.changesSince(1)).tenantIds;
        const sms = (await settings.settings(id))?.providers.find(({ channel }) => channel === 'SMS');
        if (sms === undefined) throw new Error('no provider');
        await settings.saveProvider({ ...sms, sealedApiKey: change(sms.sealedApiKey) });
        return sms;
      });
    const stored = await tamper((sealed) => `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`);
    // The other node learns of it by its next look.
    await until(
      async () => {
        const { body } = await service.dashboard('POST', '/providers/SMS/test', { recipient: '+14155550123' });
        return body['success'] === false && String(body['error']).includes('save the provider again');
      },
      { timeoutMs: 10_000, what: 'the change to be seen' },
    );
    const failed = await deliver(service, { channel: 'SMS', recipient: '+14155550123' }, 'FAILED');
    expect(failed.lastError).toContain('save the provider again');
    await deliver(service, { channel: 'EMAIL', recipient: 'ada@example.com', subject: 's' });
    await tamper(() => stored.sealedApiKey);
    await until(
      async () =>
        (await service.dashboard('POST', '/providers/SMS/test', { recipient: '+14155550123' })).body['success'] ===
        true,
      { timeoutMs: 10_000, what: 'the repair to be seen' },
    );
    await deliver(service, { channel: 'SMS', recipient: '+14155550123' });
    expect(await service.stop()).toBe(0);
  }, 60_000);
});
