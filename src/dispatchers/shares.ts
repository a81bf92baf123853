// Who may hold how much of the memory of a lane that tenants share: nobody more than is then still free, or as many times that as it weighs.
//
//   memory   [== A ==|== B ==|....free....|reserve]   one tenant holds half at most, two a third each, ...: whoever comes next finds as much room as
//                                                     the others have, however early they came. What isn't held is in the log.
//
// But for who waits for its provider: what it held by then it holds on to, and more than an eighth of a share it takes no further, and nothing of the reserve.
//
// A share is a tenant's in one partition, so that its other number has one of its own. Who has three turns for one of another's uses up three times as much
// until it comes back: with the same share its turns would come when it has nothing there.

import type { TenantId } from '../domain/ids.ts';

export interface Work {
  readonly tenantId: TenantId;
  readonly offset: number;
  /** As it is held. */
  readonly bytes: number;
}

export interface Memory {
  free(): number;
  /** Of what is free: for tenants that hold nothing yet, as much as the largest event takes at least. */
  readonly reserve: number;
  hold(bytes: number): void;
  weightOf(tenantId: TenantId): number;
  /** It waits for its provider: what it holds is given back when that is up. */
  isPaused(tenantId: TenantId): boolean;
}

/** What a tenant holds; null: nothing, and who it is isn't known yet. */
export type Holder = { readonly tenantId: TenantId; readonly bytes: number } | null;

/**
 * Whether a tenant may take `bytes` more: after it no more is its than is free beside the reserve, times its weight. One that holds nothing may take whatever
 * fits: a large event never waits until many small floods are over.
 */
export function mayHold(by: Holder, bytes: number, memory: Memory): boolean {
  const { free, reserve, isPaused } = memory;
  if (by === null || by.bytes === 0) return bytes <= free() - (by !== null && isPaused(by.tenantId) ? reserve : 0);
  return by.bytes + bytes <= shareOf(by.tenantId, memory) * (free() - reserve - bytes);
}

/** Whether it is worth coming back to what a tenant left in the log: it holds half of what it may, or less. */
export function isHungry(by: Holder, memory: Memory): boolean {
  const { free, reserve } = memory;
  return by === null || by.bytes === 0 || by.bytes <= (shareOf(by.tenantId, memory) * (free() - reserve)) / 2;
}

/** Eight that are paused leave others more than a third of what would be free without them. */
const pausedPart = 1 / 8;

/** Of what is free. */
function shareOf(tenantId: TenantId, { weightOf, isPaused }: Memory): number {
  return weightOf(tenantId) * (isPaused(tenantId) ? pausedPart : 1);
}
