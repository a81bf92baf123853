// Sealing a tenant's secrets anew, over the real store and box: all of them, once, whatever else is saved meanwhile.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createSecretBox } from '../../src/adapters/node/secret-box.ts';
import { openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import { resealTenant } from '../../src/commands/reseal-tenant.ts';
import { saveProvider } from '../../src/commands/save-provider.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { defaultPartitioning } from '../../src/domain/topics.ts';
import { sealedFor } from '../../src/domain/tenant.ts';
import type { SettingsStore, StoredProvider } from '../../src/ports/settings-store.ts';
import { formerKeysOf } from '../../src/ports/settings-store.ts';
import { storedKey, storedNamedKey, storedProvider, storedTenant } from '../contracts/settings-store.ts';
import { wallClock } from '../support/wall-clock.ts';

const tenantId = 'tnt_a' as TenantId;
const oldBox = createSecretBox('the old secret');
const box = createSecretBox('the new secret', ['the old secret']);
const newBox = createSecretBox('the new secret');
const webhookContext = sealedFor.provider(tenantId, 'WEBHOOK');

let dir: string;
let settings: SettingsStore;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'herald-reseal-'));
  settings = openSettingsStore({ path: join(dir, 'settings.db') });
  const named = storedNamedKey();
  await settings.createTenant(
    storedTenant({ sealedWebhookSecret: oldBox.seal('whsec', sealedFor.webhookSecret(tenantId)) }),
    storedKey({ sealedKey: oldBox.seal('main', sealedFor.apiKey(tenantId)) }),
  );
  await settings.createNamedKey(
    { ...named, sealedKey: oldBox.seal('named', sealedFor.namedKey(tenantId, named.id)) },
    9,
  );
  await settings.saveProvider(
    storedProvider({
      channel: 'WEBHOOK',
      provider: 'custom',
      config: {},
      sealedApiKey: oldBox.seal('the signing secret', webhookContext),
      sealedPreviousApiKey: oldBox.seal('the one before', webhookContext),
      previousUntil: 9e15,
      earlierKeys: [{ sealedKey: oldBox.seal('the one before that', webhookContext), until: 8e15 }],
      sealedCallbackSecret: oldBox.seal('of its reports', sealedFor.callbacks(tenantId, 'WEBHOOK', 'primary')),
    }),
  );
});
afterEach(async () => {
  await settings.close();
  rmSync(dir, { recursive: true });
});

const stored = async () => {
  const all = await settings.settings(tenantId);
  const [provider] = all?.providers ?? [];
  if (all === null || provider === undefined) throw new Error('nothing is stored');
  return { ...all, provider };
};

const formerSecrets = (provider: StoredProvider) =>
  formerKeysOf(provider).map(({ sealedKey }) => newBox.open(sealedKey, webhookContext));

it('seals every kind of secret anew, and a second time none', async () => {
  const reseal = resealTenant({ settings, secretBox: box });
  expect(await reseal(tenantId)).toEqual({ total: 7, resealed: 7, unreadable: [] });
  const { tenant, keys, namedKeys, provider } = await stored();
  expect(newBox.open(tenant.sealedWebhookSecret, sealedFor.webhookSecret(tenantId))).toBe('whsec');
  expect(newBox.open(keys[0]?.sealedKey ?? '', sealedFor.apiKey(tenantId))).toBe('main');
  const [named = storedNamedKey()] = namedKeys;
  expect(newBox.open(named.sealedKey, sealedFor.namedKey(tenantId, named.id))).toBe('named');
  expect(newBox.open(provider.sealedApiKey, webhookContext)).toBe('the signing secret');
  expect(formerSecrets(provider)).toEqual(['the one before', 'the one before that']);
  const callbacks = sealedFor.callbacks(tenantId, 'WEBHOOK', 'primary');
  expect(newBox.open(provider.sealedCallbackSecret ?? '', callbacks)).toBe('of its reports');
  expect(await reseal(tenantId)).toEqual({ total: 7, resealed: 0, unreadable: [] });
});

it('leaves what it cannot open as it is, names it, and goes on', async () => {
  const { provider } = await stored();
  await settings.saveProvider({
    ...provider,
    sealedApiKey: provider.sealedPreviousApiKey ?? '',
    sealedPreviousApiKey: 'v1.00000000.AAAA',
  });
  const result = await resealTenant({ settings, secretBox: box })(tenantId);
  expect(result).toEqual({ total: 7, resealed: 6, unreadable: ['former key of the WEBHOOK provider'] });
  expect((await stored()).provider.sealedPreviousApiKey).toBe('v1.00000000.AAAA');
});

it('never brings back what a tenant saved over while it was at work', async () => {
  const racing: SettingsStore = {
    ...settings,
    async replaceSealed(id, newByOld) {
      const { provider } = await stored();
      await settings.saveProvider({ ...provider, sealedApiKey: box.seal('saved meanwhile', webhookContext) });
      return settings.replaceSealed(id, newByOld);
    },
  };
  expect((await resealTenant({ settings: racing, secretBox: box })(tenantId)).resealed).toBe(6);
  expect(newBox.open((await stored()).provider.sealedApiKey, webhookContext)).toBe('saved meanwhile');
});

it('of a tenant that is gone is nothing', async () => {
  const result = await resealTenant({ settings, secretBox: box })('tnt_none' as TenantId);
  expect(result).toEqual({ total: 0, resealed: 0, unreadable: [] });
});

describe('a save of a provider', () => {
  it('that began before and ended after leaves nothing under the old secret', async () => {
    const save = saveProvider({
      settings: {
        settings: (id) => settings.settings(id),
        noteBreakers: settings.noteBreakers,
        async saveProvider(saved) {
          await resealTenant({ settings, secretBox: box })(tenantId);
          await settings.saveProvider(saved);
        },
      },
      secretBox: box,
      registry: {
        find: () => ({ channel: 'WEBHOOK', name: 'custom', check: () => [], keyGoesBy: () => ({}) }) as never,
        names: () => [],
      },
      directory: { forget() {}, webhookSecret: () => Promise.resolve('whsec') },
      log: {
        partitioning: defaultPartitioning,
        append: () => Promise.resolve({ kind: 'durable', position: { topic: 't', partition: 0, offset: 0 } }) as never,
      },
      clock: wallClock,
      logger: { error() {} },
    });
    await save({
      tenantId,
      actor: 'a',
      channel: 'WEBHOOK',
      role: 'primary',
      provider: 'custom',
      apiKey: '••••••',
      config: {},
      enabled: true,
    });
    const { provider } = await stored();
    expect(newBox.open(provider.sealedApiKey, webhookContext)).toBe('the signing secret');
    expect(formerSecrets(provider)).toEqual(['the one before', 'the one before that']);
  });
});
