// Turns on a thread that all tenants share, by its event loop.
//
//   piece ──is over? no──> piece ──is over? yes──> waits ──> [everybody else, as long as the turn took and what follows from it] ──> the next of those who wait, tenants in turn: piece ...
//
// A notification comes and goes in a dozen turns of the event loop. If each of them had a tenant's turn of 5 ms in it, it would be late by 60 ms; so the
// thread rests from such work half of the time. A tenant that has held it but little of late waits for nobody: its look into an inbox has five steps, and
// would wait for another's turn at each.

import { AsyncLocalStorage } from 'node:async_hooks';

import type { TenantId } from '../../domain/ids.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { ThreadTurns } from '../../ports/thread-turns.ts';
import { createHeapGaps } from './heap-gaps.ts';
import { createLightTenants } from './light-tenants.ts';
import { createTenantTime } from './tenant-time.ts';

/** Of a turn; the piece that crosses it, a ms or two of one document, comes on top: 10 ms are the bound. */
const shareMs = 5;
/** After a turn, whatever it took: a piece of one large record takes 20 ms. */
const restMaxMs = 50;

/** What is done for one call. */
interface Work {
  readonly tenantId: TenantId;
  readonly isBulk: boolean;
  /** For turns. */
  waitedMs: number;
}

export function createThreadTurns(metrics: Pick<Metrics, 'gauges'>): ThreadTurns {
  const whose = new AsyncLocalStorage<Work>();
  const time = createTenantTime();
  const light = createLightTenants();
  const gaps = createHeapGaps();
  metrics.gauges('herald_tenant_busy_seconds', () => time.top().map(([tenant, seconds]) => [{ tenant }, seconds]));
  /** By tenant, whose turn is next first; `undefined`: nobody's. */
  const waiting = new Map<TenantId | undefined, (() => void)[]>();
  /** When the first piece of this turn began; null: there was none. */
  let beganAt: number | null = null;
  /** What its pieces have taken, and what follows from them will. */
  let heldMs = 0;
  /** Until the turn ends with that of the event loop, or until its rest is over. */
  let pending: 'turn' | 'rest' | null = null;

  /** Of the piece that runs. */
  let pieceBeganAt: number | null = null;

  const begin = (): number => {
    beganAt = performance.now();
    heldMs = 0;
    if (pending === null) setImmediate(rest);
    pending = 'turn';
    return beganAt;
  };
  const rest = (): void => {
    const restMs = Math.min(heldMs, restMaxMs);
    beganAt = null;
    if (restMs < 1) return letInNext();
    pending = 'rest';
    setTimeout(letInNext, restMs);
  };
  const letInNext = (): void => {
    pending = null;
    const next = takeNext();
    if (next === undefined) return;
    begin();
    next();
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
      if (pending !== null) return;
      pending = 'turn';
      setImmediate(letInNext);
    });

  return {
    isOver() {
      const tenantId = whose.getStore()?.tenantId;
      const now = performance.now();
      if (tenantId !== undefined && light.isLight(tenantId, now - (pieceBeganAt ?? now), now)) return false;
      if (pending === 'rest') return true;
      return now - (beganAt ?? begin()) >= shareMs;
    },
    async next() {
      const work = whose.getStore();
      const since = performance.now();
      await wait(work?.tenantId);
      if (work !== undefined) work.waitedMs += performance.now() - since;
    },
    as: (tenantId, work, isBulk = false) => whose.run({ tenantId, isBulk, waitedMs: 0 }, work),
    async spent(tenantId, work) {
      const of = { tenantId, isBulk: false, waitedMs: 0 };
      const startedAt = performance.now();
      await whose.run(of, work);
      return Math.max(0, performance.now() - startedAt - of.waitedMs);
    },
    piece(work) {
      const { tenantId, isBulk = false } = whose.getStore() ?? {};
      const startedAt = performance.now();
      pieceBeganAt = startedAt;
      try {
        return work();
      } finally {
        pieceBeganAt = null;
        const endedAt = performance.now();
        const tookMs = endedAt - startedAt;
        heldMs += tookMs;
        if (tenantId !== undefined) {
          time.add(tenantId, tookMs, endedAt);
          light.held(tenantId, tookMs, endedAt);
          if (!isBulk) gaps.note(tenantId, endedAt);
        }
      }
    },
    isShared: (tenantId) => gaps.isAnotherAbout(tenantId),
    gap: (tenantId) => gaps.wait(tenantId),
    charge(ms) {
      heldMs += ms;
      const tenantId = whose.getStore()?.tenantId;
      if (tenantId !== undefined) light.held(tenantId, ms, performance.now());
    },
  };
}
