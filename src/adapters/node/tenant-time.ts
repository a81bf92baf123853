// How long each tenant's work has held the thread: the whole since the start, and of whom it is told, those who held it most of late.

import type { TenantId } from '../../domain/ids.ts';

export interface TenantTime {
  /** @param at by the thread's clock, in ms: now */
  add(tenantId: TenantId, ms: number, at: number): void;
  /** The twenty that held it most in the last minutes, and their seconds since the start. */
  top(): readonly (readonly [TenantId, number])[];
}

const shownMax = 20;
/** Of 200 bytes; who hasn't been heard of for longest, to a second, is forgotten, and begins at 0 when it comes again. */
const tenantsMax = 10_000;
/** Pieces come thousands of times a second: their order is kept up so often. */
const orderedEveryMs = 1000;
/** What was spent so long ago counts for half in the order, so that the first hog of today comes before the busiest of last week. */
const halfLifeMs = 60_000;

/** Changed in place: a new one for each piece is much of what a piece costs. */
interface Time {
  totalMs: number;
  lateMs: number;
  at: number;
  orderedAt: number;
}

export function createTenantTime(now: () => number = () => performance.now()): TenantTime {
  const times = new Map<TenantId, Time>();
  const forgetOldest = (): void => {
    const [oldest] = times.keys();
    if (oldest !== undefined) times.delete(oldest);
  };

  return {
    add(tenantId, ms, at) {
      const known = times.get(tenantId);
      const time = known ?? { totalMs: 0, lateMs: 0, at, orderedAt: at };
      time.totalMs += ms;
      time.lateMs = faded(time, at) + ms;
      time.at = at;
      if (known !== undefined && at - known.orderedAt < orderedEveryMs) return;
      time.orderedAt = at;
      times.delete(tenantId);
      times.set(tenantId, time);
      if (times.size > tenantsMax) forgetOldest();
    },
    top() {
      const at = now();
      return [...times]
        .map(([tenantId, time]) => ({ tenantId, totalMs: time.totalMs, late: faded(time, at) }))
        .toSorted((a, b) => b.late - a.late)
        .slice(0, shownMax)
        .map(({ tenantId, totalMs }) => [tenantId, totalMs / 1000] as const);
    },
  };
}

/** What is left by then of what was spent late. */
function faded(time: Time, at: number): number {
  return time.lateMs * 0.5 ** ((at - time.at) / halfLifeMs);
}
