// Who may hold how much of the memory of a lane that tenants share: nobody more than is then still free.
//
//   memory   [== A ==|== B ==|....free....|reserve]   one tenant holds half at most, two a third each, ...: whoever comes next finds as much room as
//                                                     the others have, however early they came. What isn't held is in the log.
//
// A share is a tenant's in one partition, so that its other number has one of its own.

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
}

/**
 * Whether a tenant that holds `held` may take `bytes` more: after it no more is its than is free beside the reserve. One that holds nothing may take
 * whatever fits: a large event never waits until many small floods are over.
 */
export function mayHold(held: number, bytes: number, { free, reserve }: Memory): boolean {
  return held + bytes <= free() - reserve - bytes || (held === 0 && bytes <= free());
}

/** Whether it is worth coming back to what a tenant left in the log: it holds half of what it may, or less. */
export function isHungry(held: number, { free, reserve }: Memory): boolean {
  return held === 0 || held <= (free() - reserve) / 2;
}
