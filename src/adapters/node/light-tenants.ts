// Which tenants have held a shared thread but little of late: what they took drains away, as from a bucket with a hole.

import type { TenantId } from '../../domain/ids.ts';

export interface LightTenants {
  /** It has held the thread for so many ms. */
  held(tenantId: TenantId, ms: number): void;
  /** @param moreMs that it holds it right now */
  isLight(tenantId: TenantId, moreMs: number): boolean;
}

/** A twentieth of the thread drains away: a look of a ms at an inbox 50 times a second, or a page of 20 records five times. */
const drainsPerMs = 0.05;
/** Who has more in its bucket isn't light. */
const lightMs = 5;
/** A bucket holds no more: whoever has stopped is light again after 400 ms. */
const heldMaxMs = 25;
/** Of 100 bytes; whoever wasn't heard of for longest is forgotten, and is light. */
const tenantsMax = 10_000;

export function createLightTenants(now: () => number = () => performance.now()): LightTenants {
  const buckets = new Map<TenantId, { readonly ms: number; readonly at: number }>();
  const msOf = (tenantId: TenantId): number => {
    const bucket = buckets.get(tenantId);
    return bucket === undefined ? 0 : Math.max(0, bucket.ms - (now() - bucket.at) * drainsPerMs);
  };
  return {
    held(tenantId, ms) {
      const sum = Math.min(msOf(tenantId) + ms, heldMaxMs);
      buckets.delete(tenantId);
      buckets.set(tenantId, { ms: sum, at: now() });
      const [oldest] = buckets.keys();
      if (buckets.size > tenantsMax && oldest !== undefined) buckets.delete(oldest);
    },
    isLight: (tenantId, moreMs) => msOf(tenantId) + moreMs < lightMs,
  };
}
