// Whose turn it is, and who is passed over for now: lanes by priority, tenants by weight, slots by what is slow, caps by tenant.

import type { Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { createLanes } from './lanes.ts';
import type { Lanes } from './lanes.ts';
import type { DispatcherLimits } from './limits.ts';
import { createSlots } from './slots.ts';
import { createTenantGate } from './tenant-gate.ts';
import type { TenantGate } from './tenant-gate.ts';
import type { TenantShares } from './tenant-shares.ts';

/** What turns are of: an attempt that waits. */
export interface Waiting {
  readonly event: { readonly tenantId: TenantId; readonly priority: Priority };
  /** Less than of those that came after it. */
  readonly order: number;
}

export interface Turns<T extends Waiting> {
  readonly gate: Pick<TenantGate, 'isHeld' | 'holdUntil' | 'endHold' | 'expired' | 'holding'>;
  readonly lanes: Pick<Lanes<T>, 'push' | 'putBack' | 'release' | 'removeWhere' | 'depth' | 'heads'>;
  /** The next one, which has its slot from now on; undefined when nobody may begin. */
  begin(): T | undefined;
  /** It has been in flight for long; may be said again. */
  noteSlow(item: T): void;
  /** Gives its slot back. */
  end(item: T): void;
}

export function createTurns<T extends Waiting>(of: {
  limits: DispatcherLimits;
  shares: Pick<TenantShares, 'of'>;
}): Turns<T> {
  const { limits, shares } = of;
  const slots = createSlots(limits);
  const gate = createTenantGate((tenantId) => shares.of(tenantId).inFlightMax ?? limits.inFlightPerTenantProviderMax);
  const weightOf = (tenantId: TenantId) => shares.of(tenantId).weight;
  const lanes = createLanes<T>({
    isHeld: gate.isHeld,
    roomOf: (priority) => ({
      isFull: () => slots.isFull(priority),
      isFor: (tenantId) => slots.mayBegin(priority, gate.inFlight(tenantId), weightOf(tenantId)),
    }),
    weightOf,
    isOlder: (a, b) => a.order < b.order,
  });
  const slow = new Set<T>();

  function next(): T | undefined {
    if (slots.free('BULK') > 0) return lanes.take();
    return slots.free('HIGH') > 0 ? lanes.takeFrom('HIGH') : undefined;
  }

  return {
    gate,
    lanes,
    begin() {
      const item = next();
      if (item === undefined) return undefined;
      gate.enter(item.event.tenantId);
      slots.begin(item.event.priority);
      return item;
    },
    noteSlow(item) {
      if (slow.has(item)) return;
      slow.add(item);
      gate.beginSlow(item.event.tenantId);
    },
    end(item) {
      const { tenantId, priority } = item.event;
      if (slow.delete(item)) gate.leaveSlow(tenantId);
      else gate.leave(tenantId);
      slots.end(priority);
      if (!gate.isHeld(tenantId)) lanes.release(tenantId);
    },
  };
}
