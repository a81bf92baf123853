// The breakers that aren't closed and clean, those of all tenants up to a bound: past it the tenant that has most of them gives one up, so that one's many
// receivers make nobody else's be forgotten.

import type { Breaker } from '../domain/breaker.ts';
import type { TenantId } from '../domain/ids.ts';

interface OfTenant {
  readonly tenantId: TenantId;
  readonly breaker: Breaker;
}

export interface KeptBreakers<Kept extends OfTenant> {
  get(key: string): Kept | undefined;
  set(key: string, one: Kept): void;
  delete(key: string): void;
  values(): Iterable<Kept>;
}

/** A tenant's keys, the one that was touched first in front. */
type Own = Readonly<Record<Breaker['kind'], Set<string>>>;

export function createKeptBreakers<Kept extends OfTenant>(max: number): KeptBreakers<Kept> {
  const kept = new Map<string, Kept>();
  const owns = new Map<TenantId, Own>();
  /** The tenants that have so many: whose turn it is to give one up is found without a look through all. */
  const bySize = new Map<number, Set<TenantId>>();
  let most = 0;

  const ownOf = (tenantId: TenantId): Own => owns.get(tenantId) ?? { closed: new Set(), open: new Set() };

  /** By one at a time. */
  function resize(tenantId: TenantId, from: number, to: number): void {
    const left = bySize.get(from);
    left?.delete(tenantId);
    if (left?.size === 0) bySize.delete(from);
    if (to === 0) owns.delete(tenantId);
    else bySize.set(to, (bySize.get(to) ?? new Set()).add(tenantId));
    if (to > most || !bySize.has(most)) most = to;
  }

  function add(key: string, one: Kept): void {
    const { tenantId, breaker } = one;
    const own = ownOf(tenantId);
    const before = sizeOf(own);
    kept.set(key, one);
    owns.set(tenantId, own);
    own[breaker.kind].add(key);
    resize(tenantId, before, before + 1);
  }

  function remove(key: string): void {
    const one = kept.get(key);
    if (one === undefined) return;
    const own = ownOf(one.tenantId);
    const before = sizeOf(own);
    kept.delete(key);
    own[one.breaker.kind].delete(key);
    resize(one.tenantId, before, before - 1);
  }

  /** With a closed one a few failures are forgotten; with an open one, that its receiver isn't to be called. */
  function giveUpOne(): void {
    for (const tenantId of bySize.get(most) ?? []) {
      const { closed, open } = ownOf(tenantId);
      for (const key of closed.size > 0 ? closed : open) return remove(key);
    }
  }

  return {
    get: (key) => kept.get(key),
    set(key, one) {
      remove(key);
      if (kept.size >= max) giveUpOne();
      add(key, one);
    },
    delete: remove,
    values: () => kept.values(),
  };
}

function sizeOf({ closed, open }: Own): number {
  return closed.size + open.size;
}
