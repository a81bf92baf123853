// Three lanes by priority, sharing the starts 70 : 25 : 5; what one lane doesn't use goes to the others.
//
// Stride scheduling: the ready lane with the least pass is served and its pass grows by its stride, the inverse of its weight.
// A lane that was idle begins again at the pass of the lane served last: waiting for nothing earns nothing, so no burst
// follows, and no lane that has work waits longer than its weight says (BULK: for 21 other starts).

import { priorities } from '../domain/events.ts';
import type { Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { createFairQueue } from './fair-queue.ts';
import type { FairQueue, TurnPolicy } from './fair-queue.ts';

export const laneWeights: Readonly<Record<Priority, number>> = { HIGH: 70, DEFAULT: 25, BULK: 5 };

export interface Lanes<T> {
  push(priority: Priority, tenantId: TenantId, item: T): void;
  /** Before what isn't older of its tenant in its lane: for what was taken but couldn't be begun. */
  putBack(priority: Priority, tenantId: TenantId, item: T): void;
  /** The next item: the lane by weight, the tenant by turns, the item by age; undefined when nothing may be taken. */
  take(): T | undefined;
  /** The next item of one lane, by the same account. */
  takeFrom(priority: Priority): T | undefined;
  /** To be called when a tenant may no longer be held. */
  release(tenantId: TenantId): void;
  removeWhere(predicate: (item: T) => boolean): void;
  depth(priority: Priority): number;
  /** The first item of every tenant in a lane. */
  heads(priority: Priority): Iterable<T>;
}

interface Lane<T> {
  readonly queue: FairQueue<T>;
  readonly stride: number;
  pass: number;
}

/** The least common multiple of the weights, so that strides are whole numbers: 5, 14 and 70. */
const strideUnit = 350;

/** @param turns between tenants, the same in each lane */
export function createLanes<T>(turns: TurnPolicy<T>): Lanes<T> {
  const lane = (priority: Priority): Lane<T> => ({
    queue: createFairQueue<T>(turns),
    stride: strideUnit / laneWeights[priority],
    pass: 0,
  });
  const byPriority: Readonly<Record<Priority, Lane<T>>> = {
    HIGH: lane('HIGH'),
    DEFAULT: lane('DEFAULT'),
    BULK: lane('BULK'),
  };
  const lanes = priorities.map((priority) => byPriority[priority]);
  let servedPass = 0;

  function take(): T | undefined {
    let least: Lane<T> | null = null;
    for (const lane of lanes) {
      if (!lane.queue.isReady()) continue;
      if (least === null || startOf(lane) < startOf(least)) least = lane;
    }
    return least === null ? undefined : serve(least);
  }

  function serve(lane: Lane<T>): T | undefined {
    servedPass = startOf(lane);
    lane.pass = servedPass + lane.stride;
    return lane.queue.take();
  }

  function startOf(lane: Lane<T>): number {
    return Math.max(lane.pass, servedPass);
  }

  return {
    push: (priority, tenantId, item) => byPriority[priority].queue.push(tenantId, item),
    putBack: (priority, tenantId, item) => byPriority[priority].queue.putBack(tenantId, item),
    take,
    takeFrom: (priority) => (byPriority[priority].queue.isReady() ? serve(byPriority[priority]) : undefined),
    release(tenantId) {
      for (const lane of lanes) lane.queue.release(tenantId);
    },
    removeWhere(predicate) {
      for (const lane of lanes) lane.queue.removeWhere(predicate);
    },
    depth: (priority) => byPriority[priority].queue.size,
    heads: (priority) => byPriority[priority].queue.heads(),
  };
}
