// How much of a tenant's is deferred in a second since its provider, or a webhook's receiver, isn't to be called now: each is two more events of the log, so a
// flood for one dead receiver is deferred at this pace, and the tenant's other receivers get their turns between.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

export interface Deferrals {
  /** 0: one more may be deferred now; else ms until the next may. */
  take(tenantId: TenantId): number;
}

const windowMs = 1_000;
/** Twice as many events: a tenth of what one number of the log takes. */
const perWindowMax = 50;

export function createDeferrals({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): Deferrals {
  const taken = new Map<TenantId, number>();
  let windowEnds = 0;

  return {
    take(tenantId) {
      const now = clock.monotonic();
      if (now >= windowEnds) {
        taken.clear();
        windowEnds = now + windowMs;
      }
      const before = taken.get(tenantId) ?? 0;
      if (before >= perWindowMax) return windowEnds - now;
      taken.set(tenantId, before + 1);
      return 0;
    },
  };
}
