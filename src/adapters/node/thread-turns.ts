// Turns on a thread that all tenants share, by its event loop.
//
//   piece ──is over? no──> piece ──is over? yes──> waits ──> [everybody else's turn] ──> the first of those who wait: piece ...

import { AsyncLocalStorage } from 'node:async_hooks';

import type { TenantId } from '../../domain/ids.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { createTenantTime } from './tenant-time.ts';

/** Of a turn; the piece that crosses it, a ms or two of one document, comes on top: 10 ms are the bound. */
const shareMs = 5;

export function createThreadTurns(metrics: Pick<Metrics, 'gauges'>): ThreadTurns {
  const whose = new AsyncLocalStorage<TenantId>();
  const time = createTenantTime();
  metrics.gauges('herald_tenant_busy_seconds', () => time.top().map(([tenant, seconds]) => [{ tenant }, seconds]));
  const waiting: (() => void)[] = [];
  /** When the first piece of this turn began; null: there was none. */
  let beganAt: number | null = null;
  let turn: NodeJS.Immediate | null = null;

  const begin = (): number => {
    beganAt = performance.now();
    comesAround();
    return beganAt;
  };
  const comesAround = (): void => {
    turn ??= setImmediate(() => {
      [turn, beganAt] = [null, null];
      const next = waiting.shift();
      if (next === undefined) return;
      begin();
      next();
    });
  };

  return {
    isOver: () => performance.now() - (beganAt ?? begin()) >= shareMs,
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        comesAround();
      }),
    as: (tenantId, work) => whose.run(tenantId, work),
    piece(work) {
      const tenantId = whose.getStore();
      const startedAt = performance.now();
      try {
        return work();
      } finally {
        if (tenantId !== undefined) time.add(tenantId, performance.now() - startedAt);
      }
    },
  };
}
