// Gaps between the heaps in which batches come in. With the log's and the dispatchers' part in it an item of a batch is some 30 us of the thread, so that flush
// after flush fills it, and a notification that comes and goes in six turns of the event loop meets a piece of one in each.
//
//   heap ──> [the thread rests as long as it works, 20 ms from heap to heap at most] ──> heap          only where another tenant is about with more than batches

import { performance } from 'node:perf_hooks';

import type { TenantId } from '../../domain/ids.ts';

/** Idle as a share of busy: half of the thread's time is left for those who come by themselves. */
const idlePerActive = 1;
/** Where the thread is full of other work, a heap begins nevertheless: 10,000 items a second, of 200 a heap. */
const heapEveryMaxMs = 20;
const lookEveryMs = 1;
/** A tenant is about for so long after its last piece. */
const aboutMs = 1000;

export interface LoopTimes {
  readonly idle: number;
  readonly active: number;
}
export interface GapMeans {
  readonly now: () => number;
  /** What the event loop has idled and worked since then; since its start without. */
  readonly loop: (since?: LoopTimes) => LoopTimes;
  readonly sleep: (ms: number) => Promise<void>;
}

export interface HeapGaps {
  /** It has had a piece of the thread, of work that isn't bulk. */
  note(tenantId: TenantId, at: number): void;
  /** Whether another tenant has had such a piece within the last second. */
  isAnotherAbout(tenantId: TenantId | null): boolean;
  /** Resolves when the tenant may begin its next heap. Those who wait go on one by one, in the order in which they came. */
  wait(tenantId: TenantId): Promise<void>;
}

const ofThisThread: GapMeans = {
  now: () => performance.now(),
  loop: (since) => performance.eventLoopUtilization(since as Parameters<typeof performance.eventLoopUtilization>[0]),
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
};

export function createHeapGaps({ now, loop, sleep }: GapMeans = ofThisThread): HeapGaps {
  /** Whose piece was the last one, and whose the last one of anybody else. */
  let last: TenantId | null = null;
  let lastAt = 0;
  let other: TenantId | null = null;
  let otherAt = 0;
  let heapBegan = loop();
  let before = Promise.resolve();

  const isAnotherAbout = (tenantId: TenantId | null): boolean => {
    const isLast = last === tenantId;
    return (isLast ? other : last) !== null && now() - (isLast ? otherAt : lastAt) < aboutMs;
  };
  const isRested = (): boolean => {
    const { idle, active } = loop(heapBegan);
    return idle >= active * idlePerActive || idle + active >= heapEveryMaxMs;
  };
  const gap = async (tenantId: TenantId): Promise<void> => {
    while (isAnotherAbout(tenantId) && !isRested()) await sleep(lookEveryMs);
    heapBegan = loop();
  };

  return {
    isAnotherAbout,
    note(tenantId, at) {
      if (tenantId !== last) {
        other = last;
        otherAt = lastAt;
        last = tenantId;
      }
      lastAt = at;
    },
    wait(tenantId) {
      before = before.then(() => gap(tenantId));
      return before;
    },
  };
}
