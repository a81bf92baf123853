// The tenants of one partition that speak for themselves, and what each tenant holds of it.

import type { TenantId } from '../domain/ids.ts';
import type { Held, Laggard, TenantKey } from './laggard.ts';
import { isBehind, joinedStateOf, newLaggard, restoredLaggard, stateOf } from './laggard.ts';
import { tenantKey } from './position-text.ts';
import type { PartitionState } from './position-text.ts';

export interface Laggards {
  readonly size: number;
  /** What a tenant holds, from now on. */
  heldBy(tenantId: TenantId): Held;
  /** What a tenant holds; undefined: nothing. */
  held(tenantId: TenantId): Held | undefined;
  /** Whose work an offset is, of those that don't lag; null: nobody's that is held. */
  ownerOf(offset: number): Held | null;
  of(tenantId: TenantId): Laggard | undefined;
  add(by: Held): Laggard;
  /** The one that has waited longest of those that may come back; it is the last from then on. */
  next(mayComeBack: (laggard: Laggard) => boolean): Laggard | null;
  /** To be asked when it may hold nothing any more, or have come back. */
  forgetIfDone(laggard: Laggard): void;
  /** A tenant that doesn't lag holds nothing any more. */
  release(by: Held): void;
  all(): Iterable<Laggard>;
  states(): PartitionState['laggards'];
}

/** @param restored of before the restart: all that they had left in the log is below `readTo` */
export function createLaggards(restored: PartitionState['laggards'], readTo: number): Laggards {
  const held = new Map<TenantId, Held>();
  const byKey = new Map<TenantKey, Laggard>();
  const byTenant = new Map<TenantId, Laggard>();
  /** Whose tenants weren't met since the restart. */
  let unmet = restored.length;
  for (const { key, ...state } of restored) byKey.set(key, restoredLaggard(key, state, readTo));

  function heldBy(tenantId: TenantId): Held {
    const known = held.get(tenantId);
    if (known !== undefined) return known;
    const fresh: Held = { tenantId, bytes: 0, offsets: new Set(), leaving: 0, finishedMax: -1, finishedBetween: [] };
    held.set(tenantId, fresh);
    return fresh;
  }

  function of(tenantId: TenantId): Laggard | undefined {
    const known = byTenant.get(tenantId);
    if (known !== undefined || unmet === 0) return known;
    const met = byKey.get(tenantKey(tenantId));
    if (met === undefined) return undefined;
    unmet--;
    met.held = heldBy(tenantId);
    byTenant.set(tenantId, met);
    return met;
  }

  return {
    get size() {
      return byKey.size;
    },
    heldBy,
    held: (tenantId) => held.get(tenantId),
    ownerOf(offset) {
      for (const by of held.values()) if (by.offsets.has(offset) && !byTenant.has(by.tenantId)) return by;
      return null;
    },
    of,
    add(by) {
      const laggard = newLaggard(tenantKey(by.tenantId), by);
      byKey.set(laggard.key, laggard);
      byTenant.set(by.tenantId, laggard);
      return laggard;
    },
    next(mayComeBack) {
      for (const laggard of byKey.values()) {
        if (!isBehind(laggard) || !mayComeBack(laggard)) continue;
        byKey.delete(laggard.key);
        byKey.set(laggard.key, laggard);
        return laggard;
      }
      return null;
    },
    forgetIfDone(laggard) {
      const { key, held: by } = laggard;
      if (isBehind(laggard) || (by !== null && by.offsets.size > 0)) return;
      byKey.delete(key);
      if (by === null) {
        unmet--;
        return;
      }
      byTenant.delete(by.tenantId);
      held.delete(by.tenantId);
    },
    release: (by) => void held.delete(by.tenantId),
    all: () => byKey.values(),
    states: () =>
      [...byKey.values()].map((laggard) => ({
        key: laggard.key,
        ...stateOf(laggard),
        joined: () => joinedStateOf(laggard),
      })),
  };
}
