// Who may hold how much of the memory of a lane that tenants share: nobody more than is then still free, or as many times that as it weighs.
//
//   memory   [== A ==|== B ==|....free....|reserve]   one tenant holds half at most, two a third each, ...: whoever comes next finds as much room as
//                                                     the others have, however early they came. What isn't held is in the log.
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
}

/** What a tenant holds; null: nothing, and who it is isn't known yet. */
export type Holder = { readonly tenantId: TenantId; readonly bytes: number } | null;

/**
 * Whether a tenant may take `bytes` more: after it no more is its than is free beside the reserve, times its weight. One that holds nothing may take whatever
 * fits: a large event never waits until many small floods are over.
 */
export function mayHold(by: Holder, bytes: number, { free, reserve, weightOf }: Memory): boolean {
  if (by === null || by.bytes === 0) return bytes <= free();
  return by.bytes + bytes <= weightOf(by.tenantId) * (free() - reserve - bytes);
}

/** Whether it is worth coming back to what a tenant left in the log: it holds half of what it may, or less. */
export function isHungry(by: Holder, { free, reserve, weightOf }: Memory): boolean {
  return by === null || by.bytes === 0 || by.bytes <= (weightOf(by.tenantId) * (free() - reserve)) / 2;
}
