// Which tenants have held a shared thread but little of late: what they took drains away, as from a bucket with a hole.

import type { TenantId } from '../../domain/ids.ts';

export interface LightTenants {
  /** It has held the thread for so many ms. @param at by the thread's clock, in ms: now */
  held(tenantId: TenantId, ms: number, at: number): void;
  /** @param moreMs that it holds it right now */
  isLight(tenantId: TenantId, moreMs: number, at: number): boolean;
}

/** A twentieth of the thread drains away: a look of a ms at an inbox 50 times a second, or a page of 20 records five times. */
const drainsPerMs = 0.05;
/** Who has more in its bucket isn't light. */
const lightMs = 5;
/** A bucket holds no more: whoever has stopped is light again after 400 ms. */
const heldMaxMs = 25;
/** Of 100 bytes; whoever wasn't heard of for longest, to a tenth of a second, is forgotten, and is light. */
const tenantsMax = 10_000;
/** Pieces come thousands of times a second: their order is kept up so often. */
const orderedEveryMs = 100;

/** Changed in place, as tenants' times are. */
interface Bucket {
  ms: number;
  at: number;
  orderedAt: number;
}

export function createLightTenants(): LightTenants {
  const buckets = new Map<TenantId, Bucket>();
  const forgetOldest = (): void => {
    const [oldest] = buckets.keys();
    if (oldest !== undefined) buckets.delete(oldest);
  };
  return {
    held(tenantId, ms, at) {
      const known = buckets.get(tenantId);
      const bucket = known ?? { ms: 0, at, orderedAt: at };
      bucket.ms = Math.min(leftIn(bucket, at) + ms, heldMaxMs);
      bucket.at = at;
      if (known !== undefined && at - known.orderedAt < orderedEveryMs) return;
      bucket.orderedAt = at;
      buckets.delete(tenantId);
      buckets.set(tenantId, bucket);
      if (buckets.size > tenantsMax) forgetOldest();
    },
    isLight(tenantId, moreMs, at) {
      const bucket = buckets.get(tenantId);
      return (bucket === undefined ? 0 : leftIn(bucket, at)) + moreMs < lightMs;
    },
  };
}

function leftIn(bucket: Bucket, at: number): number {
  return Math.max(0, bucket.ms - (at - bucket.at) * drainsPerMs);
}
