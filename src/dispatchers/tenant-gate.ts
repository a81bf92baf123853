// Whose turn is passed over for now: tenants that have as much in flight as one may, tenants whose settings can't be had, and
// tenants that have used up their provider's rate.
// A channel has one provider a tenant, so within a channel's dispatcher a count by tenant is the count by (tenant, provider).

import type { TenantId } from '../domain/ids.ts';
import type { InFlight } from './slots.ts';

export interface TenantGate {
  isHeld(tenantId: TenantId): boolean;
  inFlight(tenantId: TenantId): InFlight;
  enter(tenantId: TenantId): void;
  /** Leaving quickly, it says that its tenant's are quick again. */
  leave(tenantId: TenantId): void;
  /** One of those in flight is slow from now on: so are, as far as can be told, the others of its tenant and those to come. */
  beginSlow(tenantId: TenantId): void;
  leaveSlow(tenantId: TenantId): void;
  /**
   * Holds a tenant until then, monotonic ms; false when it is held until some time already. At most as many tenants as
   * have events read ahead.
   */
  holdUntil(tenantId: TenantId, until: number): boolean;
  /** Ends a hold that is over by now; whether there was one. */
  endHold(tenantId: TenantId, now: number): boolean;
  /** The tenants that were held until now or before, each once: their holds end. */
  expired(now: number): TenantId[];
  /** Tenants held until some time. */
  readonly holding: number;
}

const nothing: InFlight = { count: 0, slow: 0 };
/** Tenants that were slow lately and have nothing in flight: some 100 bytes each; past it they are forgotten. */
const slowMax = 10_000;

/** @param inFlightMaxOf as many as a tenant may have in flight */
export function createTenantGate(inFlightMaxOf: (tenantId: TenantId) => number): TenantGate {
  const inFlight = new Map<TenantId, { count: number; slow: number }>();
  const slow = new Set<TenantId>();
  const heldUntil = new Map<TenantId, number>();

  function leave(tenantId: TenantId): void {
    const own = inFlight.get(tenantId);
    if (own !== undefined && --own.count === 0) inFlight.delete(tenantId);
  }

  function inFlightOf(tenantId: TenantId): InFlight {
    const own = inFlight.get(tenantId) ?? nothing;
    return slow.has(tenantId) ? { ...own, slow: own.count } : own;
  }

  return {
    isHeld: (tenantId) => (inFlight.get(tenantId)?.count ?? 0) >= inFlightMaxOf(tenantId) || heldUntil.has(tenantId),
    inFlight: inFlightOf,
    enter(tenantId) {
      const own = inFlight.get(tenantId);
      if (own === undefined) inFlight.set(tenantId, { count: 1, slow: 0 });
      else own.count++;
    },
    leave(tenantId) {
      slow.delete(tenantId);
      leave(tenantId);
    },
    beginSlow(tenantId) {
      const own = inFlight.get(tenantId);
      if (own !== undefined) own.slow++;
      if (slow.size >= slowMax) slow.clear();
      slow.add(tenantId);
    },
    leaveSlow(tenantId) {
      const own = inFlight.get(tenantId);
      if (own !== undefined) own.slow--;
      leave(tenantId);
    },
    holdUntil(tenantId, until) {
      if (heldUntil.has(tenantId)) return false;
      heldUntil.set(tenantId, until);
      return true;
    },
    endHold: (tenantId, now) => (heldUntil.get(tenantId) ?? Infinity) <= now && heldUntil.delete(tenantId),
    expired(now) {
      const over: TenantId[] = [];
      for (const [tenantId, until] of heldUntil) if (until <= now) over.push(tenantId);
      for (const tenantId of over) heldUntil.delete(tenantId);
      return over;
    },
    get holding() {
      return heldUntil.size;
    },
  };
}
