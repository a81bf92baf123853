// The tenant directory over the real settings store: warm from memory, never wrong for longer than a look, alive while the store is away.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createTenantDirectory, type RunningTenantDirectory } from '../../../src/adapters/memory/tenant-directory.ts';
import { createApiKeys } from '../../../src/adapters/node/api-keys.ts';
import { createClock } from '../../../src/adapters/node/clock.ts';
import { createSecretBox } from '../../../src/adapters/node/secret-box.ts';
import { openSettingsStore } from '../../../src/adapters/sqlite/settings/store.ts';
import type { ApiKeyId, TemplateId, TenantId } from '../../../src/domain/ids.ts';
import { sealedFor } from '../../../src/domain/tenant.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { SecretBoxError } from '../../../src/ports/secret-box.ts';
import type { SettingsStore } from '../../../src/ports/settings-store.ts';
import {
  storedKey,
  storedNamedKey,
  storedProvider,
  storedTemplate,
  storedTenant,
} from '../../contracts/settings-store.ts';
import { until } from '../../support/until.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';

const pollMs = 2000;
const staleMaxMs = 15 * 60 * 1000;
const tenantId = 'tnt_a' as TenantId;
const box = createSecretBox('a secret');
const apiKeys = createApiKeys(createClock());
const firstKey = apiKeys.generate();

describe('a tenant directory', () => {
  let dir: string;
  let clock: ManualClock;
  /** The real store. */
  let settings: SettingsStore;
  /** How often the directory asked it, by call. */
  let asked: Record<string, number>;
  let isAway: boolean;
  let directory: RunningTenantDirectory;
  let warnings: string[];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'herald-directory-'));
    clock = createManualClock();
    settings = openSettingsStore({ path: join(dir, 'settings.db') });
    asked = {};
    isAway = false;
    warnings = [];
    await settings.createTenant(
      storedTenant({ sealedWebhookSecret: box.seal('whsec_own', sealedFor.webhookSecret(tenantId)) }),
      keyOf(firstKey, 1),
    );
    directory = open();
    await directory.start();
  });
  afterEach(async () => {
    await directory.close();
    await settings.close();
    rmSync(dir, { recursive: true });
  });

  const open = () => {
    const warn = (message: string) => void warnings.push(message);
    const quiet = () => undefined;
    const logger: Logger = { debug: quiet, info: quiet, warn, error: quiet };
    return createTenantDirectory({ store: counted(), secretBox: box, apiKeys, clock, logger, pollMs, staleMaxMs });
  };
  /** The store with its calls counted, and a line to it that can be cut. */
  const counted = (): SettingsStore =>
    new Proxy(settings, {
      get(target, property) {
        const call = Reflect.get(target, property) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          const name = String(property);
          asked[name] = (asked[name] ?? 0) + 1;
          if (isAway) throw new Error('the store is away');
          return call.apply(target, args);
        };
      },
    });
  const keyOf = (apiKey: string, createdAt: number, of: { tenantId?: TenantId; expiresAt?: number } = {}) =>
    storedKey({
      tenantId,
      hash: apiKeys.hash(apiKey),
      sealedKey: box.seal(apiKey, sealedFor.apiKey(of.tenantId ?? tenantId)),
      createdAt,
      ...of,
    });
  const sealed = (secret: string) => box.seal(secret, sealedFor.provider(tenantId, 'WEBHOOK'));
  /** @param sleepers the poll, and a use of a key that waits to be written */
  const look = async (sleepers = 1) => {
    await until(() => clock.sleepers() === sleepers, { what: 'the poll to wait' });
    const before = asked['changesSince'] ?? 0;
    clock.advance(pollMs);
    await until(() => (asked['changesSince'] ?? 0) > before && clock.sleepers() === sleepers, { what: 'a look' });
  };

  describe('a key', () => {
    it('is answered from memory once it is warm', async () => {
      const first = await directory.holderOfApiKey(firstKey);
      const before = { ...asked };
      for (let i = 0; i < 100; i++) expect(await directory.holderOfApiKey(firstKey)).toEqual(first);
      expect(first).toEqual({
        tenant: { id: tenantId, subject: 'auth|a', name: 'Ada', email: null, createdAt: 1000, rateLimit: null },
        scopes: ['notify', 'inbox'],
      });
      expect(asked).toEqual(before);
    });

    it('that is malformed is refused without a question, one that is unknown is asked for once', async () => {
      const before = { ...asked };
      const wrong = firstKey.slice(0, -1) + (firstKey.endsWith('0') ? '1' : '0');
      for (const key of [wrong, '', 'nk_short']) expect(await directory.holderOfApiKey(key)).toBeNull();
      expect(asked).toEqual(before);
      const unknown = apiKeys.generate();
      for (let i = 0; i < 20; i++) expect(await directory.holderOfApiKey(unknown)).toBeNull();
      expect(asked['tenantIdByKeyHash']).toBe((before['tenantIdByKeyHash'] ?? 0) + 1);
    });

    it('asked for by many at once is loaded once', async () => {
      const tenants = await Promise.all(Array.from({ length: 50 }, () => directory.holderOfApiKey(firstKey)));
      expect(new Set(tenants.map((holder) => holder?.tenant.id))).toEqual(new Set([tenantId]));
      expect([asked['tenantIdByKeyHash'], asked['settings']]).toEqual([1, 1]);
    });

    it('ends at its time, though it is warm', async () => {
      const second = apiKeys.generate();
      await settings.replaceKey(keyOf(second, 2), clock.now() + 1000, 5);
      expect((await directory.holderOfApiKey(firstKey))?.tenant.id).toBe(tenantId);
      clock.advance(999);
      expect((await directory.holderOfApiKey(firstKey))?.tenant.id).toBe(tenantId);
      clock.advance(1);
      expect(await directory.holderOfApiKey(firstKey)).toBeNull();
      expect((await directory.holderOfApiKey(second))?.tenant.id).toBe(tenantId);
    });

    it('replaced on this node is refused at once, and the new one works', async () => {
      await directory.holderOfApiKey(firstKey);
      const second = apiKeys.generate();
      expect(await directory.holderOfApiKey(second)).toBeNull();
      await settings.replaceKey(keyOf(second, 2), null, 5);
      directory.forget(tenantId);
      expect(await directory.holderOfApiKey(firstKey)).toBeNull();
      expect((await directory.holderOfApiKey(second))?.tenant.id).toBe(tenantId);
      expect(await directory.apiKey(tenantId)).toBe(second);
    });

    it('replaced on another node is refused after the next look', async () => {
      await directory.holderOfApiKey(firstKey);
      await settings.replaceKey(keyOf(apiKeys.generate(), 2), null, 5);
      expect((await directory.holderOfApiKey(firstKey))?.tenant.id).toBe(tenantId);
      await look();
      expect(await directory.holderOfApiKey(firstKey)).toBeNull();
    });

    it('made on another node works here at once', async () => {
      await directory.holderOfApiKey(firstKey);
      const second = apiKeys.generate();
      await settings.replaceKey(keyOf(second, 2), clock.now() + 1000, 5);
      expect((await directory.holderOfApiKey(second))?.tenant.id).toBe(tenantId);
    });

    it('made on another node holds for the tokens made with it at once; for one that is missing the store is asked five times a second at most', async () => {
      await directory.holderOfApiKey(firstKey);
      const second = apiKeys.hash(apiKeys.generate());
      await settings.replaceKey({ ...keyOf(firstKey, 2), hash: second }, clock.now() + 1000, 5);
      expect((await directory.holderOfKeyHash(tenantId, second))?.tenant.id).toBe(tenantId);
      const before = asked['settings'] ?? 0;
      const missing = apiKeys.hash(apiKeys.generate());
      const all = Promise.all(Array.from({ length: 100 }, () => directory.holderOfKeyHash(tenantId, missing)));
      await until(() => clock.sleepers() === 2, { what: 'the next question to wait' });
      clock.advance(200);
      expect(new Set(await all)).toEqual(new Set([null]));
      expect(asked['settings']).toBe(before + 1);
    });
  });

  describe('a further key', () => {
    const further = apiKeys.generate();
    const id = 'key_1' as ApiKeyId;
    const lastUsedAt = async () => (await settings.settings(tenantId))?.namedKeys[0]?.lastUsedAt;
    beforeEach(() =>
      settings.createNamedKey(
        storedNamedKey({
          id,
          hash: apiKeys.hash(further),
          sealedKey: box.seal(further, sealedFor.namedKey(tenantId, id)),
          scopes: ['read'],
        }),
        50,
      ),
    );

    it('opens what its scopes say, is refused after the look that tells of its end, and is cut out of answers', async () => {
      expect(await directory.holderOfApiKey(further)).toMatchObject({ tenant: { id: tenantId }, scopes: ['read'] });
      expect(await directory.secretsOf(tenantId)).toContain(further);
      expect(await directory.apiKey(tenantId)).toBe(firstKey);
      await settings.deleteNamedKey(tenantId, id);
      await look(2);
      expect(await directory.holderOfApiKey(further)).toBeNull();
    });

    it('has its last use noted once a minute, not with each request, and what waits is written at the end', async () => {
      for (let i = 0; i < 100; i++) await directory.holderOfApiKey(further);
      const usedAt = clock.now();
      expect(asked['noteKeyUses']).toBeUndefined();
      clock.advance(10_000);
      await until(async () => (await lastUsedAt()) === usedAt, { what: 'the use to be written' });
      await until(() => clock.sleepers() === 1, { what: 'the poll to wait' });
      clock.advance(49_999);
      await directory.holderOfApiKey(further);
      await directory.close();
      expect([await lastUsedAt(), asked['noteKeyUses']]).toEqual([usedAt, 1]);

      directory = open();
      await directory.start();
      await directory.holderOfApiKey(further);
      const later = clock.now();
      await directory.close();
      expect(await lastUsedAt()).toBe(later);
    });
  });

  it('keeps nothing of a load that was under way when the tenant was forgotten', async () => {
    const underWay = directory.tenant(tenantId);
    await settings.saveProvider(storedProvider({ sealedApiKey: box.seal('k', sealedFor.provider(tenantId, 'EMAIL')) }));
    directory.forget(tenantId);
    await underWay;
    expect(await directory.canDeliver(tenantId, 'EMAIL')).toBe(true);
  });

  it('knows a subject at once when its tenant is made on this node, though it was asked for before', async () => {
    expect(await directory.tenantBySubject('auth|b')).toBeNull();
    const other = 'tnt_b' as TenantId;
    const otherKey = keyOf(apiKeys.generate(), 2, { tenantId: other });
    await settings.createTenant(storedTenant({ id: other, subject: 'auth|b' }), otherKey);
    directory.forget(other);
    expect((await directory.tenantBySubject('auth|b'))?.id).toBe(other);
    expect((await directory.tenantBySubject('auth|a'))?.id).toBe(tenantId);
    expect(await directory.tenant('tnt_none' as TenantId)).toBeNull();
  });

  it('knows the next tenant of a person whose former one another node has erased, and asks once a second for one who has none', async () => {
    expect((await directory.tenantBySubject('auth|a'))?.id).toBe(tenantId);
    await settings.eraseTenant(tenantId);
    await look();
    const before = { ...asked };
    for (let i = 0; i < 20; i++) expect(await directory.tenantBySubject('auth|a')).toBeNull();
    expect(asked['tenantBySubject']).toBe((before['tenantBySubject'] ?? 0) + 1);
    expect(asked['settings']).toBe((before['settings'] ?? 0) + 1);
    const next = 'tnt_next' as TenantId;
    await settings.createTenant(
      storedTenant({ id: next, sealedWebhookSecret: box.seal('whsec_next', sealedFor.webhookSecret(next)) }),
      keyOf(apiKeys.generate(), 2, { tenantId: next }),
    );
    clock.advance(1000);
    expect((await directory.tenantBySubject('auth|a'))?.id).toBe(next);
  });

  describe('a provider', () => {
    it('is opened, and each of its former keys is there for as long as it signs', async () => {
      const previous = {
        sealedPreviousApiKey: sealed('whsec_before'),
        previousUntil: clock.now() + 1000,
        earlierKeys: [
          { sealedKey: 'v1.00000000.AAAA', until: clock.now() + 900 },
          { sealedKey: sealed('whsec_earlier'), until: clock.now() + 500 },
        ],
      };
      const signers = async () => (await directory.settings(tenantId))?.formerSigners(clock.now());
      const provider = storedProvider({
        channel: 'WEBHOOK',
        provider: 'custom',
        sealedApiKey: sealed('whsec_now'),
        ...previous,
      });
      await settings.saveProvider(provider);
      expect(await directory.provider(tenantId, 'WEBHOOK')).toMatchObject({ apiKey: 'whsec_now' });
      expect(await signers()).toEqual(['whsec_before', 'whsec_earlier']);
      const all = [firstKey, 'whsec_own', 'whsec_now', 'whsec_before', 'whsec_earlier'];
      expect(new Set(await directory.secretsOf(tenantId))).toEqual(new Set(all));
      clock.advance(500);
      expect(await signers()).toEqual(['whsec_before']);
      expect(new Set(await directory.secretsOf(tenantId))).toEqual(new Set(all.slice(0, -1)));
      clock.advance(500);
      expect(await signers()).toEqual([]);
      expect(new Set(await directory.secretsOf(tenantId))).toEqual(new Set([firstKey, 'whsec_own', 'whsec_now']));
    });

    it('that is switched off or missing cannot deliver, while WEBHOOK and IN_APP need none', async () => {
      await settings.saveProvider(storedProvider({ channel: 'SMS', enabled: false }));
      const can = (channel: 'EMAIL' | 'SMS' | 'WEBHOOK' | 'IN_APP') => directory.canDeliver(tenantId, channel);
      expect(await Promise.all([can('EMAIL'), can('SMS'), can('WEBHOOK'), can('IN_APP')])).toEqual([
        false,
        false,
        true,
        true,
      ]);
      expect(await directory.provider(tenantId, 'EMAIL')).toBeNull();
    });

    describe('that was saved on another node since the tenant was known here', () => {
      const save = () =>
        settings.saveProvider(storedProvider({ sealedApiKey: box.seal('k', sealedFor.provider(tenantId, 'EMAIL')) }));
      beforeEach(async () => {
        await directory.tenant(tenantId);
        await save();
      });

      it('is accepted for at once', async () => {
        expect(await directory.canDeliver(tenantId, 'EMAIL')).toBe(true);
      });

      it('is there after a refresh, which keeps what is warm when the store is away', async () => {
        expect(await directory.provider(tenantId, 'EMAIL')).toBeNull();
        isAway = true;
        await expect(directory.refresh(tenantId)).rejects.toThrow('away');
        expect(await directory.provider(tenantId, 'EMAIL')).toBeNull();
        isAway = false;
        clock.advance(200);
        await directory.refresh(tenantId);
        expect(await directory.provider(tenantId, 'EMAIL')).toMatchObject({ apiKey: 'k' });
      });

      it('is there though a load of the tenant was under way that has begun before it', async () => {
        await settings.deleteProvider(tenantId, 'EMAIL', 'primary');
        directory.forget(tenantId);
        const underWay = directory.tenant(tenantId);
        await save();
        await directory.refresh(tenantId);
        await underWay;
        expect(await directory.provider(tenantId, 'EMAIL')).not.toBeNull();
      });
    });

    it('that is missing is asked of the store five times a second at most, however many ask', async () => {
      await directory.tenant(tenantId);
      const before = asked['settings'] ?? 0;
      const refusedNow = () => Promise.all(Array.from({ length: 100 }, () => directory.canDeliver(tenantId, 'SMS')));
      await refusedNow();
      expect(asked['settings']).toBe(before + 1);
      const later = refusedNow();
      await until(() => clock.sleepers() === 2, { what: 'the next read to wait beside the poll' });
      expect(asked['settings']).toBe(before + 1);
      clock.advance(200);
      expect(new Set(await later)).toEqual(new Set([false]));
      expect(asked['settings']).toBe(before + 2);
    });

    it('sealed under another secret says so, and harms nothing else', async () => {
      const foreign = createSecretBox('another').seal('k', sealedFor.provider(tenantId, 'EMAIL'));
      await settings.saveProvider(storedProvider({ sealedApiKey: foreign }));
      await expect(directory.provider(tenantId, 'EMAIL')).rejects.toThrow(SecretBoxError);
      expect(await directory.webhookSecret(tenantId)).toBe('whsec_own');
      expect(await directory.secretsOf(tenantId)).toEqual([firstKey, 'whsec_own']);
    });
  });

  describe('a template', () => {
    it('that another node has made since it was asked for here is there at once', async () => {
      expect(await directory.templateByName(tenantId, 'welcome')).toBeNull();
      await settings.createTemplate(storedTemplate(), 1000);
      expect((await directory.templateByName(tenantId, 'welcome'))?.version).toBe(1);
    });

    it('that is missing is asked of the store five times a second at most, however many ask', async () => {
      const ask = () => Promise.all(Array.from({ length: 100 }, () => directory.templateByName(tenantId, 'welcome')));
      await ask();
      expect(asked['templateByName']).toBe(1);
      await ask();
      expect(asked['templateByName']).toBe(2);
      const later = ask();
      await until(() => clock.sleepers() === 2, { what: 'the next read to wait beside the poll' });
      clock.advance(200);
      expect(new Set(await later)).toEqual(new Set([null]));
      expect(asked['templateByName']).toBe(3);
    });

    it('of a name that none can have is neither asked of the store nor remembered', async () => {
      for (const name of ['', 'two words', 'x'.repeat(101), 'x'.repeat(250_000)])
        expect(await directory.templateByName(tenantId, name)).toBeNull();
      expect(asked['templateByName']).toBeUndefined();
      expect(await directory.templateByName(tenantId, 'x'.repeat(100))).toBeNull();
      expect(asked['templateByName']).toBe(1);
    });

    it('is read once until the tenant changes', async () => {
      await settings.createTemplate(storedTemplate(), 1000);
      for (let i = 0; i < 3; i++) expect((await directory.templateByName(tenantId, 'welcome'))?.version).toBe(1);
      expect(asked['templateByName']).toBe(1);
      await settings.updateTemplate(storedTemplate({ version: 2 }));
      directory.forget(tenantId);
      expect((await directory.templateByName(tenantId, 'welcome'))?.version).toBe(2);
      await settings.deleteTemplate(tenantId, 'tpl_1' as TemplateId);
      await look();
      expect(await directory.templateByName(tenantId, 'welcome')).toBeNull();
    });
  });

  describe('while the store is away', () => {
    it('what is known is served for 15 minutes after the last look, what is not rejects', async () => {
      await directory.holderOfApiKey(firstKey);
      isAway = true;
      await look();
      expect((await directory.holderOfApiKey(firstKey))?.tenant.id).toBe(tenantId);
      expect(await directory.webhookSecret(tenantId)).toBe('whsec_own');
      await expect(directory.holderOfApiKey(apiKeys.generate())).rejects.toThrow('away');
      await expect(directory.templateByName(tenantId, 'welcome')).rejects.toThrow('away');
      clock.advance(staleMaxMs - pollMs);
      expect((await directory.holderOfApiKey(firstKey))?.tenant.id).toBe(tenantId);
      clock.advance(1);
      await expect(directory.holderOfApiKey(firstKey)).rejects.toThrow('away');
      await expect(directory.secretsOf(tenantId)).rejects.toThrow('away');
    });

    it('it says so once, and all is well again when the store is back', async () => {
      await directory.holderOfApiKey(firstKey);
      isAway = true;
      for (let i = 0; i < 3; i++) await look();
      expect(warnings).toHaveLength(1);
      await settings.replaceKey(keyOf(apiKeys.generate(), 2), null, 5);
      isAway = false;
      await look();
      expect(await directory.holderOfApiKey(firstKey)).toBeNull();
    });

    it('a start fails', async () => {
      isAway = true;
      await expect(open().start()).rejects.toThrow('away');
    });
  });
});
