// Turns on a thread that all tenants share, for work that would hold it: a piece of a few ms, then everybody else, then the next who waits. What pieces take
// is counted by tenant.

import type { TenantId } from '../domain/ids.ts';

export interface ThreadTurns {
  /** Whether this turn of the event loop has had its share of such work: asked between pieces of a ms or less. */
  isOver(): boolean;
  /** A later turn of the event loop, in which nobody else of those who wait goes on: tenants in turn, and of each in the order in which they came. */
  next(): Promise<void>;
  /**
   * Whatever comes of the call, also later, is this tenant's work.
   * @param isBulk it is none that a person waits for, so nobody else's need be smaller because of it: it doesn't make the thread a shared one
   */
  as<T>(tenantId: TenantId, work: () => T, isBulk?: boolean): T;
  /** The same to its end; answers the ms that it took, without its waits for turns: those are others' work. Rejects as the work does. */
  spent(tenantId: TenantId, work: () => Promise<void>): Promise<number>;
  /** Runs a piece, and counts the time that it holds the thread for whose work it is. What it throws, the call throws. */
  piece<T>(work: () => T): T;
  /** What follows from a piece will hold the thread for so many ms more, outside of turns: it counts as the piece does. */
  charge(ms: number): void;
  /** Whether another tenant has had a piece within the last second, of work that isn't bulk: heaps of work are smaller then. @param tenantId null: nobody's that is known */
  isShared(tenantId: TenantId | null): boolean;
  /**
   * Before a heap of work whose parts are in many places, as a flush of a batch: where the thread is shared, waits until it has rested a while since the heap
   * before, 20 ms at most.
   */
  gap(tenantId: TenantId): Promise<void>;
}

/** Of a thread that nobody else waits for: work goes on to its end. */
export const wholeTurns: ThreadTurns = {
  isOver: () => false,
  async next() {
    // There is but one.
  },
  as: (_tenantId, work) => work(),
  async spent(_tenantId, work) {
    await work();
    return 0;
  },
  piece: (work) => work(),
  charge() {
    // Nobody waits for it.
  },
  isShared: () => false,
  async gap() {
    // Nobody else is about.
  },
};
