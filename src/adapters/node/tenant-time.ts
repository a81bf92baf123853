// How long each tenant's work has held the thread: the whole since the start, and of whom it is told, those who held it most of late.

import type { TenantId } from '../../domain/ids.ts';

export interface TenantTime {
  add(tenantId: TenantId, ms: number): void;
  /** The twenty that held it most in the last minutes, and their seconds since the start. */
  top(): readonly (readonly [TenantId, number])[];
}

const shownMax = 20;
/** Of 200 bytes; who hasn't been heard of for longest is forgotten, and begins at 0 when it comes again. */
const tenantsMax = 10_000;
/** What was spent so long ago counts for half in the order, so that the first hog of today comes before the busiest of last week. */
const halfLifeMs = 60_000;

export function createTenantTime(now: () => number = () => performance.now()): TenantTime {
  const times = new Map<TenantId, { readonly totalMs: number; readonly lateMs: number; readonly at: number }>();
  const faded = (lateMs: number, at: number): number => lateMs * 0.5 ** ((now() - at) / halfLifeMs);

  return {
    add(tenantId, ms) {
      const before = times.get(tenantId) ?? { totalMs: 0, lateMs: 0, at: now() };
      times.delete(tenantId);
      const lateMs = faded(before.lateMs, before.at) + ms;
      times.set(tenantId, { totalMs: before.totalMs + ms, lateMs, at: now() });
      const [oldest] = times.keys();
      if (times.size > tenantsMax && oldest !== undefined) times.delete(oldest);
    },
    top: () =>
      [...times]
        .map(([tenantId, { totalMs, lateMs, at }]) => ({ tenantId, totalMs, late: faded(lateMs, at) }))
        .toSorted((a, b) => b.late - a.late)
        .slice(0, shownMax)
        .map(({ tenantId, totalMs }) => [tenantId, totalMs / 1000] as const),
  };
}
