// Who may hold how much of the memory of a lane that tenants share: nobody more than is then still free.
//
//   memory   [== A ==|== B ==|....free....]   one tenant holds half at most, two a third each, ...: whoever comes next finds as much room as the others
//                                             have, however early they came. What isn't held is in the log.
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
  hold(bytes: number): void;
}

/** Whether a tenant that holds `held` may take `bytes` more where `free` are free. For the first of its events that is: at most half of what is free. */
export function mayHold(held: number, bytes: number, free: number): boolean {
  return held + bytes <= free - bytes;
}

/** Whether it is worth coming back to what a tenant left in the log: it holds half of what it may, or less. */
export function isHungry(held: number, free: number): boolean {
  return held <= free / 2;
}
