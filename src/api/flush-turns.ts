// How many flushes of batches are under way, over all batches of this process. Each waits for the log with all that its items have become; what waits for
// longer than it takes to fill the heap's young generation is copied into the old one and is garbage there until all of that is collected.
//
//   500 items are 3 MiB until they are answered: 4 are 12 MiB, however many batches come at once. A tenant may hold as many as are still free: one alone 2,
//   of which the log writes one while the other is made ready; so the next tenant finds one.
//
// Where others are about, the log has half of its time for what they post by itself:
//
//   flush ──> [rests as long as the flush took, 50 ms at most] ──> flush

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

export const flushesAtOnceMax = 4;
/** However slow the log is: a batch of 10,000 is 50 flushes then, so it takes 2.5 s longer at most. */
export const logRestMaxMs = 50;
/** A flush that takes longer makes a log slow: one after another with their rests, 10,000 items in flushes of 200 would take over 15 s, of 20 s to be read in. */
export const slowFlushMs = 250;

export interface FlushTurns {
  /** Waits until the tenant may begin one more: as long as the log takes for those before it. Returns the call that gives the turn back, once. */
  take(tenantId: TenantId): Promise<() => void>;
  /** Resolves when the log has rested from the flush that ended last: as long as it took for that one, 50 ms at most. */
  logRested(): Promise<void>;
  /** Whether the flush that ended last took over 250 ms: what waits for others then is in danger itself. */
  isLogSlow(): boolean;
  /** How long the one that waits longest has waited, in ms; 0: none does. */
  longestWaitMs(): number;
}

interface Waiting {
  readonly tenantId: TenantId;
  /** By the monotonic clock. */
  readonly since: number;
  begin(): void;
}

export function createFlushTurns(clock: Pick<Clock, 'monotonic' | 'sleep'>, atOnceMax = flushesAtOnceMax): FlushTurns {
  const heldBy = new Map<TenantId, number>();
  /** In the order in which they came. */
  const waiting = new Set<Waiting>();
  let free = atOnceMax;
  let [lastTookMs, lastEnded] = [0, 0];

  const add = (tenantId: TenantId, count: number): void => {
    free -= count;
    const held = (heldBy.get(tenantId) ?? 0) + count;
    if (held > 0) heldBy.set(tenantId, held);
    else heldBy.delete(tenantId);
  };
  const tryToTake = (tenantId: TenantId): boolean => {
    if ((heldBy.get(tenantId) ?? 0) >= free) return false;
    add(tenantId, 1);
    return true;
  };
  const giveBack = (tenantId: TenantId): void => {
    add(tenantId, -1);
    for (const next of waiting) {
      if (!tryToTake(next.tenantId)) continue;
      waiting.delete(next);
      next.begin();
    }
  };

  const turnOf = (tenantId: TenantId): Promise<void> =>
    new Promise((resolve) => {
      waiting.add({ tenantId, since: clock.monotonic(), begin: resolve });
    });

  return {
    async take(tenantId) {
      if (!tryToTake(tenantId)) await turnOf(tenantId);
      const began = clock.monotonic();
      return () => {
        lastEnded = clock.monotonic();
        lastTookMs = lastEnded - began;
        giveBack(tenantId);
      };
    },
    async logRested() {
      const ms = lastEnded + Math.min(lastTookMs, logRestMaxMs) - clock.monotonic();
      if (ms >= 1) await clock.sleep(ms);
    },
    isLogSlow: () => lastTookMs > slowFlushMs,
    longestWaitMs() {
      const [oldest] = waiting;
      return oldest === undefined ? 0 : clock.monotonic() - oldest.since;
    },
  };
}
