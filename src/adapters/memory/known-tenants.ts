// The tenants that are known, one entry each, dropped whole when anything of a tenant has changed.

import type { TenantId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SecretBox } from '../../ports/secret-box.ts';
import type { SettingsStore } from '../../ports/settings-store.ts';
import { createBoundedCache } from './bounded-cache.ts';
import { type KnownTenant, knownTenantOf } from './known-tenant.ts';
import { createNotFoundCache } from './not-found-cache.ts';
import { createSharedLoads } from './shared-loads.ts';

/** A tenant whose settings lack what is asked of them is read five times a second at most, however many ask. */
const refreshEveryMs = 200;
const refreshedMax = 10_000;
/** Some 5,000 tenants, of 4 KiB each; one with four keys of 4,096 characters and 50 of its own takes 200 KiB. */
const tenantBytesMax = 20 * 1024 * 1024;

export interface KnownTenants {
  /** From memory, or loaded; many who ask at once wait for one load. Rejects when it is neither known nor to be had. */
  tenant(tenantId: TenantId): Promise<KnownTenant | null>;
  /** As the store has it at a moment after the call: who asks until it is read waits for the one read. Rejects when the store is away. */
  refreshed(tenantId: TenantId): Promise<KnownTenant | null>;
  /** Whether it is still the tenant's entry: what was taken from it holds as long as it is. */
  isKept(known: KnownTenant): boolean;
  /** Runs `ask` for the tenant of a key or a subject; that there is none is known for a second. */
  idOf(name: string, ask: () => Promise<TenantId | null>): Promise<TenantId | null>;
  drop(tenantIds: readonly TenantId[]): void;
}

export interface KnownTenantsOptions {
  readonly store: Pick<SettingsStore, 'settings'>;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  /** Whether entries may be served. */
  isFresh(): boolean;
}

export function createKnownTenants({ store, secretBox, clock, isFresh }: KnownTenantsOptions): KnownTenants {
  const tenants = createBoundedCache<KnownTenant>({
    weightMax: tenantBytesMax,
    weightOf: (known) => known.heldBytes,
  });
  const notFound = createNotFoundCache(clock);
  const loads = createSharedLoads();
  const refreshes = new Map<TenantId, Promise<KnownTenant | null>>();
  const refreshedAt = createBoundedCache<number>({ weightMax: refreshedMax });

  /** What was begun before a change is not kept. */
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

  /** Whoever asks once it has begun to read waits for the next. */
  const refresh = async (tenantId: TenantId): Promise<KnownTenant | null> => {
    const restMs = (refreshedAt.get(tenantId) ?? Number.NEGATIVE_INFINITY) + refreshEveryMs - clock.monotonic();
    if (restMs > 0) await clock.sleep(restMs);
    refreshes.delete(tenantId);
    refreshedAt.set(tenantId, clock.monotonic());
    loads.abandon(`tenant:${tenantId}`);
    notFound.delete(`tenant:${tenantId}`);
    return load(tenantId);
  };

  return {
    refreshed(tenantId) {
      const refreshing = refreshes.get(tenantId) ?? Promise.resolve(tenantId).then(refresh);
      refreshes.set(tenantId, refreshing);
      return refreshing;
    },
    async tenant(tenantId) {
      return (isFresh() ? tenants.get(tenantId) : undefined) ?? load(tenantId);
    },
    isKept: (known) => tenants.get(known.tenant.id) === known,
    idOf: (name, ask) =>
      loads.share(name, async (isAbandoned) => {
        if (notFound.has(name)) return null;
        const tenantId = await ask();
        if (tenantId === null && !isAbandoned()) notFound.add(name);
        return tenantId;
      }),
    drop(tenantIds) {
      for (const tenantId of tenantIds) tenants.delete(tenantId);
      notFound.clear();
      loads.abandonAll();
    },
  };
}
