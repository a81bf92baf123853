// Settings from memory: what a warm tenant needs costs no read of a store and no hashing.
//
// A change made on this node is forgotten at once, others' within seconds (delivery-directory.ts).

import type { Channel, ProviderRole } from '../../domain/events.ts';
import type { ApiKeyId, TenantId } from '../../domain/ids.ts';
import { templateName } from '../../domain/template.ts';
import type { Template } from '../../domain/tenant.ts';
import type { ApiKeys } from '../../ports/api-keys.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import type { KeyHolder, TenantDirectory } from '../../ports/tenant-directory.ts';
import { createBoundedCache } from './bounded-cache.ts';
import { createDeliveryDirectory, type DeliveryDirectoryOptions } from './delivery-directory.ts';
import { createKeyUses, type KeyUses } from './key-uses.ts';
import { hasEnded, type KnownTenant } from './known-tenant.ts';
import type { KnownTenants } from './known-tenants.ts';
import { createSharedLoads, type SharedLoads } from './shared-loads.ts';

export interface TenantDirectoryOptions extends DeliveryDirectoryOptions {
  readonly store: SettingsStore;
  readonly apiKeys: ApiKeys;
}

export interface RunningTenantDirectory extends TenantDirectory {
  /** Until it resolves nothing is served from memory. Rejects when the store is away. */
  start(): Promise<void>;
  /** Called with each tenant that is forgotten after a change on this node. */
  onForget(listener: (tenantId: TenantId) => void): void;
  close(): Promise<void>;
}

const keysMax = 20_000;
const subjectsMax = 20_000;
const templateBytesMax = 32 * 1024 * 1024;

export function createTenantDirectory(options: TenantDirectoryOptions): RunningTenantDirectory {
  const { store, clock, logger } = options;
  const delivery = createDeliveryDirectory(options);
  const { tenants, isFresh, start, share, settings, refresh } = delivery;
  const uses = createKeyUses({ store, clock, logger });
  const listeners: ((tenantId: TenantId) => void)[] = [];
  const providerOf = async (tenantId: TenantId, channel: Channel, role: ProviderRole) =>
    (await tenants.tenant(tenantId))?.provider(channel, role) ?? null;
  /** @throws Error when there is no such tenant */
  const needed = async (tenantId: TenantId): Promise<KnownTenant> => {
    const known = await tenants.tenant(tenantId);
    if (known === null) throw new Error(`there is no tenant ${tenantId}`);
    return known;
  };

  return {
    start,
    onForget: (listener) => void listeners.push(listener),
    async close() {
      await delivery.close();
      await uses.close();
    },
    holderOfApiKey: lookUpKeys(options, { tenants, uses, isFresh }),
    async holderOfKeyHash(tenantId, hash) {
      // A key that is missing may have been made on another node a moment ago.
      const has = (of: KnownTenant | null) => of?.keyWithHash(hash) != null;
      const cached = await tenants.tenant(tenantId);
      const known = has(cached) ? cached : await tenants.refreshed(tenantId);
      const key = known?.keyWithHash(hash) ?? null;
      if (known === null || key === null || hasEnded(key.expiresAt, clock.now())) return null;
      return { tenant: known.tenant, scopes: key.scopes };
    },
    tenantBySubject: lookUpSubjects(store, tenants),
    templateByName: lookUpTemplates(store, tenants),
    tenant: async (tenantId) => (await tenants.tenant(tenantId))?.tenant ?? null,
    share,
    settings,
    provider: (tenantId, channel) => providerOf(tenantId, channel, 'primary'),
    fallback: (tenantId, channel) => providerOf(tenantId, channel, 'fallback'),
    async canDeliver(tenantId, channel) {
      if (channel === 'WEBHOOK' || channel === 'IN_APP') return true;
      const can = (known: KnownTenant | null) => known?.hasEnabledProvider(channel) ?? false;
      return can(await tenants.tenant(tenantId)) || can(await tenants.refreshed(tenantId));
    },
    apiKey: async (tenantId) => (await needed(tenantId)).apiKey(),
    webhookSecret: async (tenantId) => (await needed(tenantId)).webhookSecret(),
    secretsOf: async (tenantId) => (await tenants.tenant(tenantId))?.secrets(clock.now()) ?? [],
    refresh,
    forget(tenantId) {
      delivery.forget(tenantId);
      for (const listener of listeners) listener(tenantId);
    },
  };
}

interface KnownKey {
  readonly known: KnownTenant;
  readonly expiresAt: number | null;
  /** Made once: a warm look-up allocates nothing. */
  readonly answer: Promise<KeyHolder>;
  /** Of a further key, whose uses are noted. */
  readonly id: ApiKeyId | null;
}

/** The hot path: by the text of the key while its tenant's entry is kept, else by its hash. */
function lookUpKeys(
  { store, apiKeys, clock }: TenantDirectoryOptions,
  { tenants, uses, isFresh }: { readonly tenants: KnownTenants; readonly uses: KeyUses; isFresh(): boolean },
): TenantDirectory['holderOfApiKey'] {
  const warm = createBoundedCache<KnownKey>({ weightMax: keysMax });

  /** A tenant that the store finds by a key and that lacks it here was loaded before the key was made, on another node. */
  const withKey = async (tenantId: TenantId, hash: string): Promise<KnownTenant | null> => {
    const known = await tenants.tenant(tenantId);
    if (known === null || known.keyWithHash(hash) !== null) return known;
    tenants.drop([tenantId]);
    return tenants.tenant(tenantId);
  };

  const lookUp = async (apiKey: string): Promise<KeyHolder | null> => {
    if (!apiKeys.isWellFormed(apiKey)) return null;
    const hash = apiKeys.hash(apiKey);
    const tenantId = await tenants.idOf(`key:${hash}`, () => store.tenantIdByKeyHash(hash));
    const known = tenantId === null ? null : await withKey(tenantId, hash);
    const key = known?.keyWithHash(hash) ?? null;
    if (known === null || key === null || hasEnded(key.expiresAt, clock.now())) return null;
    const { id, scopes, expiresAt } = key;
    const holder: KeyHolder = { tenant: known.tenant, scopes };
    warm.set(apiKey, { known, expiresAt, answer: Promise.resolve(holder), id });
    if (id !== null) uses.note(known.tenant.id, id);
    return holder;
  };

  return (apiKey) => {
    const key = warm.get(apiKey);
    if (key === undefined || !tenants.isKept(key.known) || !isFresh()) return lookUp(apiKey);
    if (hasEnded(key.expiresAt, clock.now())) return Promise.resolve(null);
    if (key.id !== null) uses.note(key.known.tenant.id, key.id);
    return key.answer;
  };
}

function lookUpSubjects(store: SettingsStore, tenants: KnownTenants): TenantDirectory['tenantBySubject'] {
  const ids = createBoundedCache<TenantId>({ weightMax: subjectsMax });
  return async (subject) => {
    const cached = ids.get(subject);
    const known = cached === undefined ? null : await tenants.tenant(cached);
    if (known !== null) return known.tenant;
    // It is erased: its person may have another since.
    ids.delete(subject);
    const ask = async () => (await store.tenantBySubject(subject))?.id ?? null;
    const tenantId = await tenants.idOf(`subject:${subject}`, ask);
    if (tenantId === null) return null;
    ids.set(subject, tenantId);
    return (await tenants.tenant(tenantId))?.tenant ?? null;
  };
}

interface KnownTemplate {
  readonly of: KnownTenant;
  /** null: it is known that there is none. */
  readonly template: Template | null;
}

/** That there is none is said by what the store has: another node may have made it a moment ago. */
function lookUpTemplates(store: SettingsStore, tenants: KnownTenants): TenantDirectory['templateByName'] {
  const templates = createBoundedCache<KnownTemplate>({ weightMax: templateBytesMax, weightOf: templateBytes });
  /** Many who ask at once, of one entry, wait for one load. */
  const loadsOf = new WeakMap<KnownTenant, SharedLoads>();

  const load = (known: KnownTenant, name: string): Promise<Template | null> => {
    const loads = loadsOf.get(known) ?? createSharedLoads();
    loadsOf.set(known, loads);
    return loads.share(name, async () => {
      const { id } = known.tenant;
      const template = await store.templateByName(id, name);
      // The entry is the one from before the question: a change since then has replaced it, and this is asked for again.
      if (tenants.isKept(known)) templates.set(`${id}\n${name}`, { of: known, template });
      return template;
    });
  };

  return async (tenantId, name) => {
    // A request may name anything, of 256 KiB: neither the store nor the cache has to do with it.
    if (!templateName.test(name)) return null;
    const known = await tenants.tenant(tenantId);
    if (known === null) return null;
    const cached = templates.get(`${tenantId}\n${name}`);
    if (cached?.of !== known) return load(known, name);
    if (cached.template !== null) return cached.template;
    const refreshed = await tenants.refreshed(tenantId);
    return refreshed === null ? null : load(refreshed, name);
  };
}

/** Two bytes a character, and some for what holds it and for its name, of 100 characters at most. */
function templateBytes({ template }: KnownTemplate): number {
  return 500 + 2 * ((template?.body.length ?? 0) + (template?.subject?.length ?? 0));
}
