// Which tenants wait for their provider, as they were told when they last asked: what of them is in memory stays there for a while.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

export interface Pauses {
  note(tenantId: TenantId, forMs: number): void;
  end(tenantId: TenantId): void;
  has(tenantId: TenantId): boolean;
}

/** One of whom nothing is in memory can't ask: after so long it may have what it needs to. */
const noteMaxMs = 60_000;
/** Of some 100 bytes each; past it the one that was noted first is forgotten. */
const pausesMax = 10_000;

export function createPauses({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): Pauses {
  const untils = new Map<TenantId, number>();

  return {
    note(tenantId, forMs) {
      untils.delete(tenantId);
      for (const first of untils.keys()) {
        if (untils.size < pausesMax) break;
        untils.delete(first);
      }
      untils.set(tenantId, clock.monotonic() + Math.min(forMs, noteMaxMs));
    },
    end: (tenantId) => void untils.delete(tenantId),
    has(tenantId) {
      const until = untils.get(tenantId);
      return until !== undefined && clock.monotonic() < until;
    },
  };
}
