// Turns on a thread that all tenants share, by its event loop.
//
//   piece ──is over? no──> piece ──is over? yes──> waits ──> [everybody else's turn] ──> the next of those who wait, tenants in turn: piece ...

import { AsyncLocalStorage } from 'node:async_hooks';

import type { TenantId } from '../../domain/ids.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { createTenantTime } from './tenant-time.ts';

/** Of a turn; the piece that crosses it, a ms or two of one document, comes on top: 10 ms are the bound. */
const shareMs = 5;

/** What is done for one call. */
interface Work {
  readonly tenantId: TenantId;
  /** For turns. */
  waitedMs: number;
}

export function createThreadTurns(metrics: Pick<Metrics, 'gauges'>): ThreadTurns {
  const whose = new AsyncLocalStorage<Work>();
  const time = createTenantTime();
  metrics.gauges('herald_tenant_busy_seconds', () => time.top().map(([tenant, seconds]) => [{ tenant }, seconds]));
  /** By tenant, whose turn is next first; `undefined`: nobody's. */
  const waiting = new Map<TenantId | undefined, (() => void)[]>();
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
      const next = takeNext();
      if (next === undefined) return;
      begin();
      next();
    });
  };
  /** However many wait for one tenant, another's waits for one of them at most. */
  const takeNext = (): (() => void) | undefined => {
    const [first] = waiting;
    if (first === undefined) return undefined;
    const [tenantId, ofTenant] = first;
    const next = ofTenant.shift();
    waiting.delete(tenantId);
    if (ofTenant.length > 0) waiting.set(tenantId, ofTenant);
    return next;
  };
  const wait = (tenantId: TenantId | undefined): Promise<void> =>
    new Promise((resolve) => {
      const ofTenant = waiting.get(tenantId);
      if (ofTenant === undefined) waiting.set(tenantId, [resolve]);
      else ofTenant.push(resolve);
      comesAround();
    });

  return {
    isOver: () => performance.now() - (beganAt ?? begin()) >= shareMs,
    async next() {
      const work = whose.getStore();
      const since = performance.now();
      await wait(work?.tenantId);
      if (work !== undefined) work.waitedMs += performance.now() - since;
    },
    as: (tenantId, work) => whose.run({ tenantId, waitedMs: 0 }, work),
    async spent(tenantId, work) {
      const of = { tenantId, waitedMs: 0 };
      const startedAt = performance.now();
      await whose.run(of, work);
      return Math.max(0, performance.now() - startedAt - of.waitedMs);
    },
    piece(work) {
      const tenantId = whose.getStore()?.tenantId;
      const startedAt = performance.now();
      try {
        return work();
      } finally {
        if (tenantId !== undefined) time.add(tenantId, performance.now() - startedAt);
      }
    },
  };
}
