// Settings from memory: what a warm tenant needs costs no read of a store and no hashing.
//
// Every node asks the store every `pollMs` which tenants have changed and forgets those; a change made on this node is forgotten at once.
// While the store is away what is known is served for `staleMaxMs` since the last successful look; what isn't known rejects.

import type { TenantId } from '../../domain/ids.ts';
import type { Template, Tenant } from '../../domain/tenant.ts';
import type { ApiKeys } from '../../ports/api-keys.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { SecretBox } from '../../ports/secret-box.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import type { TenantDirectory } from '../../ports/tenant-directory.ts';
import { createBoundedCache } from './bounded-cache.ts';
import { hasEnded, type KnownTenant, knownTenantOf } from './known-tenant.ts';
import { createNotFoundCache } from './not-found-cache.ts';
import { createSharedLoads } from './shared-loads.ts';

export interface TenantDirectoryOptions {
  readonly store: SettingsStore;
  readonly secretBox: SecretBox;
  readonly apiKeys: ApiKeys;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollMs?: number;
  readonly staleMaxMs?: number;
}

export interface RunningTenantDirectory extends TenantDirectory {
  /** Looks for the first time, then every `pollMs`; until then nothing is served from memory. Rejects when the store is away. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A tenant is some KiB: 20 MiB. */
const tenantsMax = 5000;
const keysMax = 20_000;
const subjectsMax = 20_000;
const templateBytesMax = 32 * 1024 * 1024;

interface KnownKey {
  readonly known: KnownTenant;
  readonly expiresAt: number | null;
  /** Made once: a warm look-up allocates nothing. */
  readonly answer: Promise<Tenant>;
}

interface KnownTemplate {
  readonly of: KnownTenant;
  readonly template: Template | null;
}

export function createTenantDirectory(options: TenantDirectoryOptions): RunningTenantDirectory {
  const { store, secretBox, apiKeys, clock, logger, pollMs = 2000, staleMaxMs = 15 * 60 * 1000 } = options;
  const tenants = createBoundedCache<KnownTenant>({ weightMax: tenantsMax });
  const byKey = createBoundedCache<KnownKey>({ weightMax: keysMax });
  const bySubject = createBoundedCache<TenantId>({ weightMax: subjectsMax });
  const templates = createBoundedCache<KnownTemplate>({ weightMax: templateBytesMax, weightOf: templateBytes });
  const notFound = createNotFoundCache(clock);
  const loads = createSharedLoads();
  const closing = new AbortController();
  let revision = 0;
  let lastLookAt = Number.NEGATIVE_INFINITY;
  let polling: Promise<void> = Promise.resolve();

  const isFresh = () => clock.monotonic() - lastLookAt <= staleMaxMs;

  const drop = (tenantId: TenantId) => {
    tenants.delete(tenantId);
    loads.abandon(`tenant:${tenantId}`);
  };
  const dropNotFound = () => {
    notFound.clear();
    loads.abandonAll();
  };

  const look = async (): Promise<void> => {
    // At most some thousand tenants are told of at once: the last look of a round tells of none.
    for (;;) {
      const changes = await store.changesSince(revision);
      revision = changes.revision;
      for (const tenantId of changes.tenantIds) drop(tenantId);
      lastLookAt = clock.monotonic();
      if (changes.tenantIds.length === 0) return;
      dropNotFound();
    }
  };
  const poll = async (): Promise<void> => {
    let isAway = false;
    while (!closing.signal.aborted) {
      await clock.sleep(pollMs, closing.signal);
      if (closing.signal.aborted) return;
      try {
        await look();
        if (isAway) logger.info('the settings are back');
        isAway = false;
      } catch (err) {
        if (!isAway) logger.warn('the settings cannot be reached: what is known is served', { err });
        isAway = true;
      }
    }
  };

  /** What was taken from a tenant's settings holds as long as they do. */
  const isKept = (known: KnownTenant) => tenants.get(known.tenant.id) === known;
  const warm = (tenantId: TenantId): KnownTenant | undefined => (isFresh() ? tenants.get(tenantId) : undefined);

  /** One load at a time for a tenant; one that was begun before a change is not kept. */
  const load = (tenantId: TenantId): Promise<KnownTenant | null> =>
    loads.share(`tenant:${tenantId}`, async (isAbandoned) => {
      if (notFound.has(`tenant:${tenantId}`)) return null;
      const settings = await store.settings(tenantId);
      const known = settings === null ? null : knownTenantOf(settings, secretBox);
      if (isAbandoned()) return known;
      if (known === null) notFound.add(`tenant:${tenantId}`);
      else tenants.set(tenantId, known);
      return known;
    });
  const tenantOf = async (tenantId: TenantId): Promise<KnownTenant | null> => warm(tenantId) ?? load(tenantId);
  const needed = async (tenantId: TenantId): Promise<KnownTenant> => {
    const known = warm(tenantId) ?? (await load(tenantId));
    if (known === null) throw new Error(`there is no tenant ${tenantId}`);
    return known;
  };

  /** Which tenant a key or a subject belongs to never changes; that it belongs to none may. */
  const idOf = (name: string, ask: () => Promise<TenantId | null>): Promise<TenantId | null> =>
    loads.share(name, async (isAbandoned) => {
      if (notFound.has(name)) return null;
      const tenantId = await ask();
      if (tenantId === null && !isAbandoned()) notFound.add(name);
      return tenantId;
    });

  const tenantByColdKey = async (apiKey: string): Promise<Tenant | null> => {
    if (!apiKeys.isWellFormed(apiKey)) return null;
    const hash = apiKeys.hash(apiKey);
    const tenantId = await idOf(`key:${hash}`, () => store.tenantIdByKeyHash(hash));
    const known = tenantId === null ? null : await tenantOf(tenantId);
    const key = known?.keyWithHash(hash) ?? null;
    if (known === null || key === null || hasEnded(key.expiresAt, clock.now())) return null;
    byKey.set(apiKey, { known, expiresAt: key.expiresAt, answer: Promise.resolve(known.tenant) });
    return known.tenant;
  };

  return {
    tenantByApiKey(apiKey) {
      const key = byKey.get(apiKey);
      if (key === undefined || !isKept(key.known) || !isFresh()) return tenantByColdKey(apiKey);
      return hasEnded(key.expiresAt, clock.now()) ? Promise.resolve(null) : key.answer;
    },
    async tenantBySubject(subject) {
      const tenantId =
        bySubject.get(subject) ??
        (await idOf(`subject:${subject}`, async () => (await store.tenantBySubject(subject))?.id ?? null));
      if (tenantId === null) return null;
      bySubject.set(subject, tenantId);
      return (await tenantOf(tenantId))?.tenant ?? null;
    },
    tenant: async (tenantId) => (await tenantOf(tenantId))?.tenant ?? null,
    provider: async (tenantId, channel) => (await tenantOf(tenantId))?.provider(channel, clock.now()) ?? null,
    async canDeliver(tenantId, channel) {
      if (channel === 'WEBHOOK' || channel === 'IN_APP') return true;
      return (await tenantOf(tenantId))?.hasEnabledProvider(channel) ?? false;
    },
    async templateByName(tenantId, name) {
      const known = await tenantOf(tenantId);
      if (known === null) return null;
      const cached = templates.get(`${tenantId}\n${name}`);
      if (cached?.of === known) return cached.template;
      const template = await store.templateByName(tenantId, name);
      if (isKept(known)) templates.set(`${tenantId}\n${name}`, { of: known, template });
      return template;
    },
    apiKey: async (tenantId) => (await needed(tenantId)).apiKey(),
    webhookSecret: async (tenantId) => (await needed(tenantId)).webhookSecret(),
    secretsOf: async (tenantId) => (await tenantOf(tenantId))?.secrets(clock.now()) ?? [],
    forget(tenantId) {
      drop(tenantId);
      dropNotFound();
    },
    async start() {
      await look();
      polling = poll();
    },
    async close() {
      closing.abort();
      await polling;
    },
  };
}

/** Two bytes a character, and some for what holds it. */
function templateBytes({ template }: KnownTemplate): number {
  return 500 + 2 * ((template?.body.length ?? 0) + (template?.subject?.length ?? 0));
}
