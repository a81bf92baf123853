// Tenants that are passed over until some time: because of their rate or their breaker, each with a timer of its own, or because their settings are away.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Turns } from './turns.ts';
import type { WorkItem } from './work-item.ts';

export interface Holds {
  /** Its other items are passed over until then: what is asked for now is refused. */
  rest(tenantId: TenantId, ms: number): Promise<void>;
  /** Until its settings may be there again. */
  awaitSettings(tenantId: TenantId): void;
  /** Ends what is over by then, monotonic ms. */
  endUntil(now: number): void;
  /** It may have its turns again, unless something else still holds it. */
  release(tenantId: TenantId): void;
}

/** How long a tenant is passed over when its settings can't be had. */
const settingsRetryMs = 1_000;

export function createHolds(by: {
  readonly turns: Pick<Turns<WorkItem>, 'gate' | 'lanes'>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly stopping: AbortSignal;
  /** A tenant is passed over for a while. */
  readonly noteKept: (tenantId: TenantId) => void;
  readonly askTurn: () => void;
}): Holds {
  const { turns, clock, stopping, noteKept, askTurn } = by;
  const { gate, lanes } = turns;

  function release(tenantId: TenantId): void {
    if (!gate.isHeld(tenantId)) lanes.release(tenantId);
    askTurn();
  }

  return {
    async rest(tenantId, ms) {
      // Timers may fire a little early.
      const restMs = Math.ceil(ms) + 1;
      if (!gate.holdUntil(tenantId, clock.monotonic() + restMs)) return;
      noteKept(tenantId);
      await clock.sleep(restMs, stopping);
      if (gate.endHold(tenantId, clock.monotonic())) release(tenantId);
    },
    awaitSettings: (tenantId) => void gate.holdUntil(tenantId, clock.monotonic() + settingsRetryMs),
    endUntil(now) {
      for (const tenantId of gate.expired(now)) release(tenantId);
    },
    release,
  };
}
