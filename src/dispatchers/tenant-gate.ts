// Whose turn is passed over for now: tenants that have as much in flight as one may, tenants whose settings can't be had, and
// tenants that have used up their provider's rate.
// A channel has one provider a tenant, so within a channel's dispatcher a count by tenant is the count by (tenant, provider).

import type { TenantId } from '../domain/ids.ts';

export interface TenantGate {
  isHeld(tenantId: TenantId): boolean;
  enter(tenantId: TenantId): void;
  leave(tenantId: TenantId): void;
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

/** @param inFlightMaxOf as many as a tenant may have in flight */
export function createTenantGate(inFlightMaxOf: (tenantId: TenantId) => number): TenantGate {
  const inFlight = new Map<TenantId, number>();
  const heldUntil = new Map<TenantId, number>();

  return {
    isHeld: (tenantId) => (inFlight.get(tenantId) ?? 0) >= inFlightMaxOf(tenantId) || heldUntil.has(tenantId),
    enter(tenantId) {
      inFlight.set(tenantId, (inFlight.get(tenantId) ?? 0) + 1);
    },
    leave(tenantId) {
      const left = (inFlight.get(tenantId) ?? 0) - 1;
      if (left > 0) inFlight.set(tenantId, left);
      else inFlight.delete(tenantId);
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
