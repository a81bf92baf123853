// What every settings store promises; each adapter runs this suite.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ApiKeyId, TemplateId, TenantId } from '../../src/domain/ids.ts';
import {
  deletedProvider,
  earlierVersionsBytesMax,
  earlierVersionsMax,
  ordinaryShare,
} from '../../src/domain/tenant.ts';
import type { Template } from '../../src/domain/tenant.ts';
import type {
  SettingsStore,
  StoredApiKey,
  StoredFormerKey,
  StoredNamedKey,
  StoredProvider,
  StoredTenant,
} from '../../src/ports/settings-store.ts';

export interface SettingsStoreHarness {
  readonly store: SettingsStore;
  /** The same data after a restart. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export const storedTenant = (of: Partial<StoredTenant> = {}): StoredTenant => ({
  id: 'tnt_a' as TenantId,
  subject: 'auth|a',
  name: 'Ada',
  email: null,
  createdAt: 1000,
  rateLimit: null,
  sealedWebhookSecret: 'sealed-whsec',
  ...of,
});

export const storedKey = (of: Partial<StoredApiKey> = {}): StoredApiKey => ({
  tenantId: 'tnt_a' as TenantId,
  hash: 'hash-1',
  sealedKey: 'sealed-1',
  createdAt: 1000,
  expiresAt: null,
  ...of,
});

export const storedNamedKey = (of: Partial<StoredNamedKey> = {}): StoredNamedKey => ({
  id: 'key_1' as ApiKeyId,
  tenantId: 'tnt_a' as TenantId,
  name: 'Reports',
  scopes: ['notify', 'read'],
  prefix: 'nk_abcde',
  hash: 'hash-named-1',
  sealedKey: 'sealed-named-1',
  createdAt: 1500,
  lastUsedAt: null,
  ...of,
});

export const storedProvider = (of: Partial<StoredProvider> = {}): StoredProvider => ({
  tenantId: 'tnt_a' as TenantId,
  channel: 'EMAIL',
  role: 'primary',
  provider: 'resend',
  sealedApiKey: 'sealed-re',
  sealedPreviousApiKey: null,
  previousUntil: null,
  config: { fromName: 'Ada', nested: { port: 25 } },
  enabled: true,
  createdAt: 1000,
  updatedAt: 1000,
  ...of,
});

export const storedTemplate = (of: Partial<Template> = {}): Template => ({
  id: 'tpl_1' as TemplateId,
  strict: false,
  tenantId: 'tnt_a' as TenantId,
  name: 'welcome',
  channel: 'EMAIL',
  subject: 'Hello',
  body: 'Hello {{ name }}',
  version: 1,
  createdAt: 1000,
  updatedAt: 1000,
  ...of,
});

export function settingsStoreContract(name: string, makeHarness: () => Promise<SettingsStoreHarness>): void {
  describe(`${name}: a settings store`, () => {
    const tenantId = 'tnt_a' as TenantId;
    const other = 'tnt_b' as TenantId;
    let harness: SettingsStoreHarness;
    let store: SettingsStore;
    beforeEach(async () => {
      harness = await makeHarness();
      ({ store } = harness);
      expect(await store.createTenant(storedTenant(), storedKey())).toBe(true);
    });
    afterEach(() => harness.close());
    const createOther = () =>
      store.createTenant(
        storedTenant({ id: other, subject: 'auth|b' }),
        storedKey({ tenantId: other, hash: 'hash-b' }),
      );

    describe('a tenant', () => {
      it('is found by its id, its subject and its key, whole, also after a restart', async () => {
        const limited = storedTenant({
          id: other,
          subject: 'auth|b',
          email: 'b@x.org',
          rateLimit: { limit: 5, windowMs: 1000 },
        });
        await store.createTenant(limited, storedKey({ tenantId: other, hash: 'hash-b', expiresAt: 5 }));
        await harness.reopen();
        expect((await harness.store.settings(other))?.tenant).toEqual(limited);
        expect(await harness.store.tenantBySubject('auth|b')).toEqual(limited);
        expect(await harness.store.tenantIdByKeyHash('hash-b')).toBe(other);
        expect(await harness.store.settings(tenantId)).toEqual({
          tenant: storedTenant(),
          share: ordinaryShare,
          keys: [storedKey()],
          namedKeys: [],
          providers: [],
        });
      });

      it('that is unknown is null', async () => {
        expect(await store.settings('tnt_none' as TenantId)).toBeNull();
        expect(await store.tenantBySubject('AUTH|A')).toBeNull();
        expect(await store.tenantIdByKeyHash('none')).toBeNull();
      });

      it("has everybody's share until it is given another, which is kept also after a restart", async () => {
        await createOther();
        expect(await store.setShare(tenantId, { weight: 3, inFlightMax: 64 })).toBe(true);
        expect((await store.settings(tenantId))?.share).toEqual({ weight: 3, inFlightMax: 64 });
        await harness.reopen();
        store = harness.store;
        expect((await store.settings(tenantId))?.share).toEqual({ weight: 3, inFlightMax: 64 });
        await store.setShare(tenantId, ordinaryShare);
        expect((await store.settings(tenantId))?.share).toEqual(ordinaryShare);
        expect(await store.setShare('tnt_none' as TenantId, ordinaryShare)).toBe(false);
        expect(await store.settings('tnt_none' as TenantId)).toBeNull();
      });

      it('is kept as long as everybody until it has a retention of its own, which is kept also after a restart', async () => {
        await createOther();
        expect(await store.retentions()).toEqual(new Map());
        expect(await store.setRetention(tenantId, 60_000)).toBe(true);
        await harness.reopen();
        store = harness.store;
        expect(await store.retentions()).toEqual(new Map([[tenantId, 60_000]]));
        expect(await store.setRetention(tenantId, null)).toBe(true);
        expect(await store.retentions()).toEqual(new Map());
        expect(await store.setRetention('tnt_none' as TenantId, 60_000)).toBe(false);
      });

      it('is one per subject, however many ask for one at once', async () => {
        const made = await Promise.all(
          Array.from({ length: 10 }, (_, i) => {
            const id = `tnt_${i}` as TenantId;
            return store.createTenant(
              storedTenant({ id, subject: 'auth|c' }),
              storedKey({ tenantId: id, hash: `hash-${i}-c` }),
            );
          }),
        );
        expect(made.filter(Boolean)).toHaveLength(1);
        const winner = `tnt_${made.indexOf(true)}`;
        expect((await store.tenantBySubject('auth|c'))?.id).toBe(winner);
        const owners = await Promise.all(made.map((_, i) => store.tenantIdByKeyHash(`hash-${i}-c`)));
        expect(owners.filter((owner) => owner !== null)).toEqual([winner]);
      });
    });

    describe('a key', () => {
      it('replaces the others, which end when it is said', async () => {
        await store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 9000, 5);
        await store.replaceKey(storedKey({ hash: 'hash-3', createdAt: 3000 }), 5000, 5);
        const keys = (await store.settings(tenantId))?.keys ?? [];
        expect(Object.fromEntries(keys.map((key) => [key.hash, key.expiresAt]))).toEqual({
          'hash-1': 5000,
          'hash-2': 5000,
          'hash-3': null,
        });
        expect(await store.tenantIdByKeyHash('hash-2')).toBe(tenantId);
      });

      it('without a grace period leaves none of the others, not those in theirs either, but further ones', async () => {
        await createOther();
        await store.createNamedKey(storedNamedKey(), 2);
        await store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 9000, 5);
        const last = storedKey({ hash: 'hash-3', createdAt: 3000 });
        expect(await store.replaceKey(last, null, 0)).toBe('replaced');
        await harness.reopen();
        const { keys, namedKeys } = (await harness.store.settings(tenantId)) ?? {};
        expect(keys).toEqual([last]);
        expect(namedKeys).toEqual([storedNamedKey()]);
        expect(await harness.store.tenantIdByKeyHash('hash-1')).toBeNull();
        expect(await harness.store.tenantIdByKeyHash('hash-2')).toBeNull();
        expect(await harness.store.tenantIdByKeyHash('hash-3')).toBe(tenantId);
        expect((await harness.store.settings(other))?.keys).toHaveLength(1);
      });

      it('that ends sooner than it is said still does', async () => {
        await store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 4000, 5);
        await store.replaceKey(storedKey({ hash: 'hash-3', createdAt: 3000 }), 8000, 5);
        const keys = (await store.settings(tenantId))?.keys ?? [];
        expect(keys.find(({ hash }) => hash === 'hash-1')?.expiresAt).toBe(4000);
      });

      it('is one of as many that hold as there may be, however many come at once, and ends them all without a grace period', async () => {
        const grace = (i: number) => store.replaceKey(storedKey({ hash: `hash-g${i}`, createdAt: 2000 }), 9000, 3);
        const outcomes = await Promise.all(Array.from({ length: 8 }, (_, i) => grace(i)));
        expect(outcomes.filter((outcome) => outcome === 'replaced')).toHaveLength(3);
        const before = (await store.settings(tenantId))?.keys ?? [];
        expect(before.filter(({ expiresAt }) => expiresAt === null)).toHaveLength(1);
        expect(before.filter(({ expiresAt }) => expiresAt === 9000)).toHaveLength(3);
        // Refused, nothing has changed; what goes doesn't count.
        expect(await grace(9)).toBe('full');
        expect((await store.settings(tenantId))?.keys).toEqual(before);
        expect(await store.replaceKey(storedKey({ hash: 'hash-last', createdAt: 3000 }), null, 3)).toBe('replaced');
        const { keys = [] } = (await store.settings(tenantId)) ?? {};
        expect(keys.map(({ hash }) => hash)).toEqual(['hash-last']);
        expect(await store.replaceKey(storedKey({ hash: 'hash-more', createdAt: 3001 }), 9000, 3)).toBe('replaced');
      });

      it('counts neither the keys of others nor further ones among those that hold', async () => {
        await createOther();
        await store.createNamedKey(storedNamedKey(), 2);
        expect(await store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 9000, 1)).toBe('replaced');
      });

      it('leaves the keys of other tenants alone', async () => {
        await createOther();
        await store.replaceKey(storedKey({ hash: 'hash-2' }), 0, 5);
        expect((await store.settings(other))?.keys[0]?.expiresAt).toBeNull();
      });
    });

    describe('a further key', () => {
      const id = 'key_1' as ApiKeyId;
      const second = storedNamedKey({
        id: 'key_2' as ApiKeyId,
        hash: 'hash-named-2',
        createdAt: 1600,
        scopes: ['inbox'],
      });
      const namedKeys = async () => (await harness.store.settings(tenantId))?.namedKeys;

      it('is found by its hash, listed oldest first, whole, also after a restart, and is no main key', async () => {
        expect(await store.createNamedKey(second, 2)).toBe('created');
        expect(await store.createNamedKey(storedNamedKey(), 2)).toBe('created');
        await harness.reopen();
        expect(await harness.store.tenantIdByKeyHash('hash-named-2')).toBe(tenantId);
        expect(await namedKeys()).toEqual([storedNamedKey(), second]);
        expect((await harness.store.settings(tenantId))?.keys).toEqual([storedKey()]);
      });

      it('is one of as many as there may be, however many are asked for at once', async () => {
        await createOther();
        const made = await Promise.all(
          Array.from({ length: 8 }, (_, i) =>
            store.createNamedKey(storedNamedKey({ id: `key_${i}` as ApiKeyId, hash: `hash-${i}-n` }), 3),
          ),
        );
        expect(made.filter((outcome) => outcome === 'created')).toHaveLength(3);
        expect(await namedKeys()).toHaveLength(3);
        expect(await store.createNamedKey(storedNamedKey({ tenantId: other, id: 'key_o' as ApiKeyId }), 3)).toBe(
          'created',
        );
      });

      it('is deleted once, by its own tenant alone', async () => {
        await createOther();
        await store.createNamedKey(storedNamedKey(), 2);
        expect(await store.deleteNamedKey(other, id)).toBe(false);
        expect(await store.deleteNamedKey(tenantId, id)).toBe(true);
        expect(await store.deleteNamedKey(tenantId, id)).toBe(false);
        expect(await store.tenantIdByKeyHash('hash-named-1')).toBeNull();
        expect(await namedKeys()).toEqual([]);
        expect((await store.settings(tenantId))?.keys).toHaveLength(1);
      });

      it('stays as it is when the main key is replaced', async () => {
        await store.createNamedKey(storedNamedKey(), 2);
        await store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), null, 5);
        expect(await namedKeys()).toEqual([storedNamedKey()]);
      });

      it('has the latest use that was noted, which is no change of the settings', async () => {
        await store.createNamedKey(storedNamedKey(), 2);
        await store.createNamedKey(second, 2);
        const { revision } = await store.changesSince(0);
        await store.noteKeyUses([
          { tenantId, id, at: 5000 },
          { tenantId, id: second.id, at: 7000 },
          { tenantId, id: 'key_gone' as ApiKeyId, at: 1 },
          { tenantId: other, id, at: 9000 },
        ]);
        await store.noteKeyUses([{ tenantId, id, at: 4000 }]);
        await store.noteKeyUses([]);
        expect((await namedKeys())?.map(({ lastUsedAt }) => lastUsedAt)).toEqual([5000, 7000]);
        expect((await store.changesSince(revision)).tenantIds).toEqual([]);
      });
    });

    describe('sealed texts', () => {
      it('are replaced wherever a tenant has them, and what has changed since is left alone', async () => {
        await createOther();
        await store.createNamedKey(storedNamedKey(), 2);
        const callbacks = { sealedCallbackSecret: 'sealed-callbacks' };
        const earlierKeys = [
          { sealedKey: 'sealed-earlier', until: 8 },
          { sealedKey: 'sealed-earliest', until: 7 },
        ];
        const previous = { sealedPreviousApiKey: 'sealed-before', previousUntil: 9, earlierKeys };
        const before = storedProvider({ ...previous, ...callbacks });
        await store.saveProvider(before);
        await store.saveProvider(storedProvider({ channel: 'SMS', sealedApiKey: 'sealed-sms' }));
        const newByOld = new Map(
          [
            'sealed-whsec',
            'sealed-1',
            'sealed-named-1',
            'sealed-re',
            'sealed-before',
            'sealed-earlier',
            'sealed-callbacks',
            'sealed-was-changed',
          ].map((old) => [old, `new-${old}`]),
        );
        expect(await store.replaceSealed(tenantId, newByOld)).toBe(7);
        await harness.reopen();
        const { tenant, keys, namedKeys, providers } = (await harness.store.settings(tenantId)) ?? {};
        expect(tenant).toEqual(storedTenant({ sealedWebhookSecret: 'new-sealed-whsec' }));
        expect(keys).toEqual([storedKey({ sealedKey: 'new-sealed-1' })]);
        expect(namedKeys).toEqual([storedNamedKey({ sealedKey: 'new-sealed-named-1' })]);
        expect(providers).toHaveLength(2);
        expect(providers).toContainEqual({
          ...before,
          sealedApiKey: 'new-sealed-re',
          sealedPreviousApiKey: 'new-sealed-before',
          earlierKeys: [
            { sealedKey: 'new-sealed-earlier', until: 8 },
            { sealedKey: 'sealed-earliest', until: 7 },
          ],
          sealedCallbackSecret: 'new-sealed-callbacks',
        });
        expect(providers).toContainEqual(storedProvider({ channel: 'SMS', sealedApiKey: 'sealed-sms' }));
        expect((await harness.store.settings(other))?.tenant.sealedWebhookSecret).toBe('sealed-whsec');
      });

      it('that are not there are no change', async () => {
        const { revision } = await store.changesSince(0);
        expect(await store.replaceSealed(tenantId, new Map([['elsewhere', 'x']]))).toBe(0);
        expect(await store.replaceSealed(tenantId, new Map())).toBe(0);
        expect((await store.changesSince(revision)).tenantIds).toEqual([]);
      });
    });

    describe('a provider', () => {
      it('is one per channel, saved whole over the one before', async () => {
        await store.saveProvider(storedProvider());
        const changed = storedProvider({
          provider: 'smtp',
          sealedPreviousApiKey: 'sealed-before',
          previousUntil: 77,
          enabled: false,
          config: {},
          updatedAt: 2000,
        });
        await store.saveProvider(changed);
        await store.saveProvider(storedProvider({ channel: 'SMS', provider: 'twilio' }));
        const providers = (await store.settings(tenantId))?.providers ?? [];
        expect(providers).toHaveLength(2);
        expect(providers).toContainEqual(changed);
      });

      it('has earlier keys, newest first, each to its own end, which go with it and by themselves', async () => {
        const third = { sealedKey: 'sealed-3', until: 79 };
        const earlierKeys: StoredFormerKey[] = [
          third,
          { sealedKey: 'sealed-1', until: 78 },
          { sealedKey: 'sealed-2', until: 78 },
        ];
        const previous = { sealedPreviousApiKey: 'sealed-before', previousUntil: 80 };
        const whole = storedProvider({ ...previous, earlierKeys });
        const fallback = storedProvider({ role: 'fallback', earlierKeys: earlierKeys.slice(1) });
        const stored = async () => (await harness.store.settings(tenantId))?.providers;
        await store.saveProvider(whole);
        await store.saveProvider(fallback);
        await harness.reopen();
        expect(await stored()).toEqual([whole, fallback]);
        await harness.store.deleteProvider(tenantId, 'EMAIL', 'fallback');
        await harness.store.saveProvider(storedProvider({ role: 'fallback' }));
        expect(await stored()).toEqual([whole, storedProvider({ role: 'fallback' })]);
        await harness.store.forgetPreviousKeys(77);
        expect((await stored())?.[0]).toEqual(whole);
        await harness.store.forgetPreviousKeys(78);
        expect((await stored())?.[0]).toEqual({ ...whole, earlierKeys: [third] });
        await harness.store.forgetPreviousKeys(79);
        expect((await stored())?.[0]).toEqual(storedProvider(previous));
        await harness.store.saveProvider(whole);
        await harness.store.saveProvider(storedProvider());
        expect((await stored())?.[0]).toEqual(storedProvider());
        await harness.store.saveProvider(whole);
        await harness.store.forgetPreviousKeys(80);
        expect((await stored())?.[0]).toEqual(storedProvider());
      });

      it('has a secret for its reports, which goes with it and by itself', async () => {
        const secret = storedProvider({ sealedCallbackSecret: 'sealed-callbacks' });
        const fallback = storedProvider({ role: 'fallback', sealedCallbackSecret: 'sealed-others' });
        await store.saveProvider(secret);
        await store.saveProvider(fallback);
        const stored = async () => (await harness.store.settings(tenantId))?.providers;
        await harness.reopen();
        expect(await stored()).toEqual([secret, fallback]);
        await harness.store.saveProvider(storedProvider());
        expect(await stored()).toEqual([storedProvider(), fallback]);
        await harness.store.deleteProvider(tenantId, 'EMAIL', 'fallback');
        await harness.store.saveProvider(storedProvider({ role: 'fallback' }));
        expect(await stored()).toEqual([storedProvider(), storedProvider({ role: 'fallback' })]);
      });

      it('may have a fallback beside it, saved, sealed anew and deleted by itself', async () => {
        const [first, second] = [storedProvider(), storedProvider({ role: 'fallback', sealedApiKey: 'sealed-second' })];
        await store.saveProvider(second);
        await store.saveProvider(first);
        await store.saveProvider(storedProvider({ channel: 'SMS' }));
        const changed = { ...second, provider: 'smtp', sealedPreviousApiKey: 'sealed-before', previousUntil: 77 };
        await store.saveProvider(changed);
        const newByOld = new Map(['sealed-second', 'sealed-before'].map((old) => [old, `new-${old}`]));
        expect(await store.replaceSealed(tenantId, newByOld)).toBe(2);
        await harness.reopen();
        const stored = async () => (await harness.store.settings(tenantId))?.providers;
        const renewed = {
          ...changed,
          sealedApiKey: 'new-sealed-second',
          sealedPreviousApiKey: 'new-sealed-before',
        };
        expect(await stored()).toHaveLength(3);
        expect(await stored()).toEqual(expect.arrayContaining([first, renewed]));
        expect(await harness.store.deleteProvider(tenantId, 'EMAIL', 'fallback')).toBe(true);
        expect(await harness.store.deleteProvider(tenantId, 'EMAIL', 'fallback')).toBe(false);
        expect(await stored()).toHaveLength(2);
        expect(await stored()).toContainEqual(first);
      });

      it('loses its previous key, and goes where it is deleted, once that key signs no more; which is no change of the settings', async () => {
        const previous = { sealedPreviousApiKey: 'sealed-before', previousUntil: 77 };
        const deleted = { ...previous, channel: 'WEBHOOK', provider: deletedProvider, enabled: false } as const;
        const [changed, without] = [storedProvider({ ...previous, channel: 'SMS' }), storedProvider()];
        for (const one of [changed, without, storedProvider(deleted)]) await store.saveProvider(one);
        await createOther();
        const later = storedProvider({ ...deleted, tenantId: other, previousUntil: 78 });
        await store.saveProvider(later);
        const { revision } = await store.changesSince(0);
        const stored = async (id: TenantId) => (await harness.store.settings(id))?.providers;
        await store.forgetPreviousKeys(76);
        expect(await stored(tenantId)).toHaveLength(3);
        await store.forgetPreviousKeys(77);
        await harness.reopen();
        const left = [without, { ...changed, sealedPreviousApiKey: null, previousUntil: null }];
        expect(await stored(tenantId)).toHaveLength(2);
        expect(await stored(tenantId)).toEqual(expect.arrayContaining(left));
        expect(await stored(other)).toEqual([later]);
        expect((await harness.store.changesSince(revision)).tenantIds).toEqual([]);
        await harness.store.forgetPreviousKeys(78);
        expect(await stored(other)).toEqual([]);
      });

      it('is deleted once', async () => {
        await store.saveProvider(storedProvider());
        expect(await store.deleteProvider(other, 'EMAIL', 'primary')).toBe(false);
        expect(await store.deleteProvider(tenantId, 'EMAIL', 'primary')).toBe(true);
        expect(await store.deleteProvider(tenantId, 'EMAIL', 'primary')).toBe(false);
        expect((await store.settings(tenantId))?.providers).toEqual([]);
      });
    });

    describe('a breaker', () => {
      const open = (of: object = {}) => ({
        tenantId,
        channel: 'EMAIL' as const,
        role: 'primary' as const,
        until: 5000,
        ...of,
      });

      it('is noted by channel and role, the last time over the one before, and forgotten when it is closed', async () => {
        const { revision } = await store.changesSince(0);
        await store.noteBreakers([]);
        await store.noteBreakers([open(), open({ role: 'fallback', until: 6000 }), open({ tenantId: other })]);
        await store.noteBreakers([open({ until: 7000 }), open({ channel: 'SMS', until: null })]);
        await harness.reopen();
        const noted = await harness.store.breakers(tenantId);
        expect(noted).toHaveLength(2);
        expect(noted).toEqual(expect.arrayContaining([open({ until: 7000 }), open({ role: 'fallback', until: 6000 })]));
        await harness.store.noteBreakers([open({ until: null })]);
        expect(await harness.store.breakers(tenantId)).toEqual([open({ role: 'fallback', until: 6000 })]);
        expect((await harness.store.changesSince(revision)).tenantIds).toEqual([]);
      });
    });

    describe('a template', () => {
      it('is found by id and name within its tenant alone', async () => {
        await createOther();
        const template = storedTemplate({ subject: null, body: 'ünï\n{{ x }}' });
        expect(await store.createTemplate(template, 1000)).toBe('created');
        expect(await store.template(tenantId, template.id)).toEqual(template);
        expect(await store.templateByName(tenantId, 'welcome')).toEqual(template);
        expect(await store.template(other, template.id)).toBeNull();
        expect(await store.templateByName(other, 'welcome')).toBeNull();
        expect(await store.deleteTemplate(other, template.id)).toBe(false);
        expect(await store.updateTemplate({ ...template, tenantId: other, version: 2 })).toBe('gone');
      });

      it('has a name that no other of its tenant has, also when twenty ask at once', async () => {
        await createOther();
        const made = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            store.createTemplate(storedTemplate({ id: `tpl_${i}` as TemplateId }), 1000),
          ),
        );
        expect(made.filter((outcome) => outcome === 'created')).toHaveLength(1);
        expect(made.filter((outcome) => outcome === 'taken')).toHaveLength(19);
        expect(await store.templates(tenantId)).toHaveLength(1);
        expect(await store.createTemplate(storedTemplate({ id: 'tpl_b' as TemplateId, tenantId: other }), 1000)).toBe(
          'created',
        );
      });

      it('is one of as many as a tenant may have, however many are asked for at once', async () => {
        await createOther();
        const named = (i: number) => storedTemplate({ id: `tpl_${i}` as TemplateId, name: `name-${i}` });
        const made = await Promise.all(Array.from({ length: 8 }, (_, i) => store.createTemplate(named(i), 3)));
        expect(made.filter((outcome) => outcome === 'created')).toHaveLength(3);
        expect(made.filter((outcome) => outcome === 'full')).toHaveLength(5);
        const [first, ...rest] = await store.templates(tenantId);
        expect(rest).toHaveLength(2);
        // Its name says more than that there is no room.
        expect(await store.createTemplate({ ...named(9), name: first?.name ?? '' }, 3)).toBe('taken');
        expect(await store.createTemplate({ ...named(9), tenantId: other }, 3)).toBe('created');
        await store.deleteTemplate(tenantId, first?.id ?? ('' as TemplateId));
        expect(await store.createTemplate(named(10), 3)).toBe('created');
      });

      it('is listed newest first', async () => {
        const make = (id: string, createdAt: number) =>
          store.createTemplate(storedTemplate({ id: id as TemplateId, name: id, createdAt }), 1000);
        await make('tpl_b', 5);
        await make('tpl_a', 5);
        await make('tpl_c', 9);
        expect((await store.templates(tenantId)).map(({ id }) => id)).toEqual(['tpl_c', 'tpl_b', 'tpl_a']);
        expect(await store.templates(other)).toEqual([]);
      });

      it('is listed by pages that end by number or by the bytes of subjects and bodies, one at least', async () => {
        const body = 'é'.repeat(500);
        for (const [id, createdAt] of [
          ['tpl_b', 5],
          ['tpl_a', 5],
          ['tpl_c', 9],
          ['tpl_d', 1],
        ] as const)
          await store.createTemplate(
            storedTemplate({ id: id as TemplateId, name: id, createdAt, body, subject: 's' }),
            1000,
          );
        const page = async (limit: number, bytesMax: number, after?: readonly [number, string]) => {
          const place = after === undefined ? {} : { after: { createdAt: after[0], id: after[1] as TemplateId } };
          const { templates, isCut } = await store.templatePage(tenantId, { limit, bytesMax, ...place });
          return [templates.map(({ id }) => id), isCut];
        };
        expect(await page(9, 9999)).toEqual([['tpl_c', 'tpl_b', 'tpl_a', 'tpl_d'], false]);
        expect(await page(2, 9999)).toEqual([['tpl_c', 'tpl_b'], true]);
        expect(await page(9, 2002)).toEqual([['tpl_c', 'tpl_b'], true]);
        expect(await page(9, 2001)).toEqual([['tpl_c'], true]);
        expect(await page(9, 1, [5, 'tpl_b'])).toEqual([['tpl_a'], true]);
        expect(await page(2, 9999, [5, 'tpl_b'])).toEqual([['tpl_a', 'tpl_d'], false]);
        expect(await page(2, 9999, [1, 'tpl_d'])).toEqual([[], false]);
      });

      it('is changed only from the version that was seen: of two at once one is stale', async () => {
        await store.createTemplate(storedTemplate(), 1000);
        const outcomes = await Promise.all([
          store.updateTemplate(storedTemplate({ version: 2, body: 'x', updatedAt: 2 })),
          store.updateTemplate(storedTemplate({ version: 2, body: 'y', updatedAt: 2 })),
        ]);
        expect(outcomes.sort()).toEqual(['stale', 'updated']);
        expect((await store.template(tenantId, 'tpl_1' as TemplateId))?.version).toBe(2);
      });

      it('may be renamed, not to a name that is taken, and its old name is free again', async () => {
        await store.createTemplate(storedTemplate(), 1000);
        await store.createTemplate(storedTemplate({ id: 'tpl_2' as TemplateId, name: 'bye' }), 1000);
        expect(await store.updateTemplate(storedTemplate({ name: 'bye', version: 2 }))).toBe('taken');
        expect(await store.updateTemplate(storedTemplate({ name: 'hi', version: 2 }))).toBe('updated');
        expect(await store.templateByName(tenantId, 'welcome')).toBeNull();
        expect(await store.createTemplate(storedTemplate({ id: 'tpl_3' as TemplateId }), 1000)).toBe('created');
      });

      it('is strict as it was saved, in every version and however it is found', async () => {
        const strictIn = async () => [
          (await store.template(tenantId, 'tpl_1' as TemplateId))?.strict,
          (await store.templateByName(tenantId, 'welcome'))?.strict,
          (await store.templates(tenantId))[0]?.strict,
          (await store.templatePage(tenantId, { limit: 1, bytesMax: 9999 })).templates[0]?.strict,
        ];
        await store.createTemplate(storedTemplate({ strict: true }), 1000);
        expect(await strictIn()).toEqual([true, true, true, true]);
        await store.updateTemplate(storedTemplate({ strict: true, version: 2 }));
        expect(await strictIn()).toEqual([true, true, true, true]);
        await store.updateTemplate(storedTemplate({ strict: false, version: 3 }));
        expect(await strictIn()).toEqual([false, false, false, false]);
        await store.updateTemplate(storedTemplate({ strict: true, version: 4 }));
        expect(await store.deleteTemplate(tenantId, 'tpl_1' as TemplateId)).toBe(true);
        await store.createTemplate(storedTemplate(), 1000);
        expect(await strictIn()).toEqual([false, false, false, false]);
      });

      it('remembers what it was before, newest first, also after a restart, and forgets it when it goes', async () => {
        const id = 'tpl_1' as TemplateId;
        await store.createTemplate(storedTemplate(), 1000);
        expect(await store.templateHistory(tenantId, id)).toEqual({ template: storedTemplate(), earlier: [] });
        await store.updateTemplate(
          storedTemplate({ version: 2, strict: true, subject: null, body: 'two', updatedAt: 2000 }),
        );
        const latest = storedTemplate({ version: 3, name: 'renamed', body: 'three', updatedAt: 3000 });
        expect(await store.updateTemplate({ ...latest, version: 2 })).toBe('stale');
        await store.updateTemplate(latest);
        await harness.reopen();
        ({ store } = harness);
        const earlier = [
          { version: 2, name: 'welcome', subject: null, body: 'two', strict: true, savedAt: 2000 },
          { version: 1, name: 'welcome', subject: 'Hello', body: 'Hello {{ name }}', strict: false, savedAt: 1000 },
        ];
        expect(await store.templateHistory(tenantId, id)).toEqual({ template: latest, earlier });
        expect(await store.template(tenantId, id)).toEqual(latest);
        expect(await store.templates(tenantId)).toEqual([latest]);
        expect((await store.templatePage(tenantId, { limit: 1, bytesMax: 9999 })).templates).toEqual([latest]);
        expect(await store.templateByName(tenantId, 'renamed')).toEqual(latest);
        expect(await store.templateHistory(other, id)).toBeNull();
        await store.deleteTemplate(tenantId, id);
        expect(await store.templateHistory(tenantId, id)).toBeNull();
        await store.createTemplate(latest, 1000, earlier);
        expect(await store.templateHistory(tenantId, id)).toEqual({ template: latest, earlier });
        await store.deleteTemplate(tenantId, id);
        await store.createTemplate(storedTemplate(), 1000);
        expect((await store.templateHistory(tenantId, id))?.earlier).toEqual([]);
      });

      it('remembers so many versions, and so many bytes of them, the newest', async () => {
        const versions = async () =>
          (await store.templateHistory(tenantId, 'tpl_1' as TemplateId))?.earlier.map(({ version }) => version);
        await store.createTemplate(storedTemplate(), 1000);
        for (let version = 2; version <= earlierVersionsMax + 3; version++)
          await store.updateTemplate(storedTemplate({ version }));
        const last = earlierVersionsMax + 3;
        expect(await versions()).toEqual(Array.from({ length: earlierVersionsMax }, (_, i) => last - 1 - i));
        // The byte of a subject counts, and a character's second byte does.
        const half = 'é'.repeat(earlierVersionsBytesMax / 4 - 1);
        const long = (version: number) => storedTemplate({ version, subject: 'xy', body: half });
        for (const next of [1, 2, 3]) await store.updateTemplate(long(last + next));
        expect(await versions()).toEqual([last + 2, last + 1]);
      });

      it('that was deleted is gone', async () => {
        await store.createTemplate(storedTemplate(), 1000);
        expect(await store.deleteTemplate(tenantId, 'tpl_1' as TemplateId)).toBe(true);
        expect(await store.deleteTemplate(tenantId, 'tpl_1' as TemplateId)).toBe(false);
        expect(await store.updateTemplate(storedTemplate({ version: 2 }))).toBe('gone');
      });
    });

    describe('changes', () => {
      const writes: Record<string, () => Promise<unknown>> = {
        'a key': () => store.replaceKey(storedKey({ hash: 'hash-2' }), 5, 5),
        'a further key': () => store.createNamedKey(storedNamedKey(), 1),
        'the end of one': () => store.deleteNamedKey(tenantId, storedNamedKey().id),
        'sealed texts': () => store.replaceSealed(tenantId, new Map([['sealed-whsec', 'sealed-anew']])),
        'a provider': () => store.saveProvider(storedProvider()),
        'a share': () => store.setShare(tenantId, { weight: 2, inFlightMax: null }),
        'a template': () => store.createTemplate(storedTemplate(), 1000),
      };

      it('are told once to whoever asks since a revision, by tenant', async () => {
        await createOther();
        for (const [what, write] of Object.entries(writes)) {
          const { revision } = await store.changesSince((await store.changesSince(0)).revision);
          await write();
          const changes = await store.changesSince(revision);
          expect([what, changes.tenantIds]).toEqual([what, [tenantId]]);
          expect((await store.changesSince(changes.revision)).tenantIds).toEqual([]);
        }
      });

      it('begin with a revision alone, and new tenants are among them from then on', async () => {
        const first = await store.changesSince(0);
        expect(first.tenantIds).toEqual([]);
        expect(first.revision).toBeGreaterThan(0);
        await createOther();
        expect((await store.changesSince(first.revision)).tenantIds).toEqual([other]);
      });

      it('include deletions and every version, and not what changed nothing', async () => {
        await store.saveProvider(storedProvider());
        await store.createTemplate(storedTemplate(), 1000);
        let { revision } = await store.changesSince(0);
        const changed = async () => {
          const changes = await store.changesSince(revision);
          ({ revision } = changes);
          return changes.tenantIds;
        };
        await store.updateTemplate(storedTemplate({ version: 2 }));
        expect(await changed()).toEqual([tenantId]);
        await store.updateTemplate(storedTemplate({ version: 2 }));
        await store.createTemplate(storedTemplate({ id: 'tpl_2' as TemplateId }), 1000);
        expect(await changed()).toEqual([]);
        await store.deleteTemplate(tenantId, 'tpl_1' as TemplateId);
        expect(await changed()).toEqual([tenantId]);
        await store.deleteProvider(tenantId, 'EMAIL', 'primary');
        expect(await changed()).toEqual([tenantId]);
      });

      it('go on after a restart', async () => {
        const { revision } = await store.changesSince(0);
        await store.saveProvider(storedProvider());
        await harness.reopen();
        expect((await harness.store.changesSince(revision)).tenantIds).toEqual([tenantId]);
      });
    });

    describe('marks', () => {
      it('are kept by whoever comes first, and by a restart', async () => {
        expect(await store.mark('log')).toBeNull();
        const kept = await Promise.all(['one', 'two', 'three'].map((value) => store.keepMark('log', value)));
        expect(new Set(kept).size).toBe(1);
        await harness.reopen();
        expect(await harness.store.mark('log')).toBe(kept[0]);
        expect(await harness.store.mark('secret')).toBeNull();
      });

      it('are replaced whether there was one or not', async () => {
        await store.replaceMark('secret', 'one');
        await store.replaceMark('secret', 'two');
        expect(await store.mark('secret')).toBe('two');
        expect(await store.mark('log')).toBeNull();
      });
    });

    describe('an erased tenant', () => {
      const filled = async () => {
        await store.createNamedKey(storedNamedKey(), 9);
        const earlierKeys = [{ sealedKey: 'sealed-earlier', until: 9e15 }];
        await store.saveProvider(storedProvider({ sealedCallbackSecret: 'sealed-callbacks', earlierKeys }));
        await store.saveProvider(storedProvider({ role: 'fallback' }));
        await store.createTemplate(storedTemplate(), 9);
        await store.setShare(tenantId, { weight: 3, inFlightMax: null });
        await store.setRetention(tenantId, 60_000);
        await store.noteBreakers([{ tenantId, channel: 'EMAIL', role: 'primary', until: 5 }]);
      };

      it('is gone, with all that was its, and whoever knew it hears of it', async () => {
        await filled();
        const { revision } = await store.changesSince(0);
        expect(await store.eraseTenant(tenantId)).toBe(true);
        expect(await store.settings(tenantId)).toBeNull();
        expect(await store.tenantBySubject(storedTenant().subject)).toBeNull();
        expect(await store.tenantIdByKeyHash(storedKey().hash)).toBeNull();
        expect(await store.tenantIdByKeyHash(storedNamedKey().hash)).toBeNull();
        expect(await store.templates(tenantId)).toEqual([]);
        expect(await store.breakers(tenantId)).toEqual([]);
        expect([...(await store.retentions()).keys()]).not.toContain(tenantId);
        expect((await store.changesSince(revision)).tenantIds).toEqual([tenantId]);
        expect(await store.setShare(tenantId, ordinaryShare)).toBe(false);
        expect(await store.eraseTenant(tenantId)).toBe(false);
        await harness.reopen();
        expect(await harness.store.settings(tenantId)).toBeNull();
      });

      it('is saved nothing of by those who have not heard of it yet, and told to them so', async () => {
        await filled();
        await store.eraseTenant(tenantId);
        const { revision } = await store.changesSince(0);
        for (const saved of [
          () => store.saveProvider(storedProvider({ sealedCallbackSecret: 'sealed-callbacks' })),
          () => store.saveProvider(storedProvider({ role: 'fallback' })),
          () => store.replaceKey(storedKey({ hash: 'hash-2', createdAt: 2000 }), 9000, 5),
          () => store.createNamedKey(storedNamedKey(), 9),
          () => store.createTemplate(storedTemplate(), 9),
        ])
          await expect(saved()).rejects.toMatchObject({ code: 'FORBIDDEN' });
        expect(await store.updateTemplate(storedTemplate({ version: 2 }))).toBe('gone');
        expect(await store.tenantIdByKeyHash('hash-2')).toBeNull();
        expect(await store.templates(tenantId)).toEqual([]);
        expect((await store.changesSince(revision)).tenantIds).toEqual([]);
        // There is nothing left to go.
        expect(await store.eraseTenant(tenantId)).toBe(false);
      });

      it("leaves others', whose erasure is their own, and its person may have another", async () => {
        const second = 'tnt_second' as TenantId;
        const next = storedTenant({ id: second });
        await store.eraseTenant(tenantId);
        expect(await store.createTenant(next, storedKey({ tenantId: second, hash: 'hash-next' }))).toBe(true);
        expect((await store.settings(second))?.tenant).toEqual(next);
        expect(await store.eraseTenant(second)).toBe(true);
        expect(await store.eraseTenant('tnt_nobody' as TenantId)).toBe(false);
      });
    });

    it('rejects once it is away', async () => {
      await store.close();
      expect(await store.ready()).toBe(false);
      await expect(store.settings(tenantId)).rejects.toThrow();
      await expect(store.changesSince(1)).rejects.toThrow();
      await expect(store.saveProvider(storedProvider())).rejects.toThrow();
    });
  });
}
