// Refusals that come one after another are answered in a line: what is refused costs the thread as much as what is served, and nothing else bounds how often
// somebody asks for what he doesn't get. Who waits for an answer asks for nothing more.
//
//   of a caller    [ 100 at once ][ then one each 10 ms, 2 s late at most ]      callers: each tenant, and all together of whom nobody is known
//
// What is wrong with a notification that RATE_LIMIT counts takes a quarter of that time: of who sends 4,000 a second a tenth may be wrong, and none is late.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';

/** Resolves when a refusal may be answered; null: of nobody that is known. */
export type RefusalLine = (tenantId: TenantId | null, of?: keyof typeof everyMsOf) => Promise<void>;

const everyMsOf = { uncounted: 10, counted: 2.5 } as const;
const atOnce = 100;
const lateMaxMs = 2000;
/** Half of a process's connections, of all callers together; what is beyond it is answered at once. */
const waitingMax = 2000;
/** Of callers who were refused within the last seconds; whoever is forgotten begins anew. */
const callersMax = 10_000;

interface Dependencies {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly metrics: Pick<Metrics, 'gauge'>;
}

export function createRefusalLine({ clock, metrics }: Dependencies): RefusalLine {
  /** When all that a caller was refused so far would have been answered, one after another; who was refused last is the last. */
  const answeredAt = new Map<TenantId | null, number>();
  let waiting = 0;
  metrics.gauge('herald_refusals_waiting', () => waiting);

  function forget(now: number): void {
    for (const [caller, at] of answeredAt) {
      if (at > now && answeredAt.size <= callersMax) return;
      answeredAt.delete(caller);
    }
  }

  return async (tenantId, of = 'uncounted') => {
    const everyMs = everyMsOf[of];
    const now = clock.monotonic();
    const before = Math.max(now, answeredAt.get(tenantId) ?? now);
    const lateMs = Math.min(before - now - atOnce * everyMs, lateMaxMs);
    answeredAt.delete(tenantId);
    answeredAt.set(tenantId, now + Math.min(before - now, atOnce * everyMs + lateMaxMs) + everyMs);
    forget(now);
    if (lateMs <= 0 || waiting >= waitingMax) return;
    waiting++;
    await clock.sleep(lateMs);
    waiting--;
  };
}
