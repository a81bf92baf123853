// Three lanes by priority, sharing the starts 70 : 25 : 5; what one lane doesn't use goes to the others.
//
// Stride scheduling: the ready lane with the least pass is served and its pass grows by its stride, the inverse of its weight.
// A lane that was idle begins again at the pass of the lane served last: waiting for nothing earns nothing, so no burst
// follows, and no lane that has work waits longer than its weight says (BULK: for 21 other starts).
// A lane that waits for room keeps its pass, while HIGH goes on in the slots of its own: what HIGH is ahead by then is owed to the others, up to a limit.

import { priorities } from '../domain/events.ts';
import type { Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { createFairQueue } from './fair-queue.ts';
import type { FairQueue, Room, TurnPolicy } from './fair-queue.ts';

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
  /** It may be served now. */
  isCandidate: boolean;
}

/** The least common multiple of the weights, so that strides are whole numbers: 5, 14 and 70. */
const strideUnit = 350;
/** How far a lane may be ahead of one that waits for room: 280 starts of HIGH, some more than it ever has in flight, are 20 of BULK. */
const aheadMax = 4 * strideUnit;

/** Of turns between tenants, the same in each lane but for the room that it has. */
export type LanePolicy<T> = Omit<TurnPolicy<T>, 'room'> & {
  /** Absent: there is always room for everybody. */
  roomOf?(priority: Priority): Room;
};

export function createLanes<T>({ roomOf, ...turns }: LanePolicy<T>): Lanes<T> {
  const lane = (priority: Priority): Lane<T> => ({
    queue: createFairQueue<T>({ ...turns, ...(roomOf === undefined ? {} : { room: roomOf(priority) }) }),
    stride: strideUnit / laneWeights[priority],
    pass: 0,
    isCandidate: false,
  });
  const byPriority: Readonly<Record<Priority, Lane<T>>> = {
    HIGH: lane('HIGH'),
    DEFAULT: lane('DEFAULT'),
    BULK: lane('BULK'),
  };
  const lanes = priorities.map((priority) => byPriority[priority]);

  function take(): T | undefined {
    for (const lane of lanes) lane.isCandidate = lane.queue.isReady();
    return serve();
  }

  function takeFrom(priority: Priority): T | undefined {
    for (const lane of lanes) lane.isCandidate = lane === byPriority[priority] && lane.queue.isReady();
    return serve();
  }

  /** Of the candidates the lane with the least pass; the others that wait keep their distances to one another. */
  function serve(): T | undefined {
    let lane: Lane<T> | null = null;
    for (const one of lanes) if (one.isCandidate && (lane === null || one.pass < lane.pass)) lane = one;
    if (lane === null) return undefined;
    const now = lane.pass;
    lane.pass += lane.stride;
    let behind = Infinity;
    for (const one of lanes) if (!one.isCandidate && one.queue.isWaiting()) behind = Math.min(behind, one.pass);
    const forgiven = Math.max(0, lane.pass - aheadMax - behind);
    for (const one of lanes) {
      if (!one.isCandidate) one.pass = one.queue.isWaiting() ? one.pass + forgiven : Math.max(one.pass, now);
    }
    return lane.queue.take();
  }

  return {
    push: (priority, tenantId, item) => byPriority[priority].queue.push(tenantId, item),
    putBack: (priority, tenantId, item) => byPriority[priority].queue.putBack(tenantId, item),
    take,
    takeFrom,
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
