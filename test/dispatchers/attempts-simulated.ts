// Attempts on a virtual clock: the real turns, tenants that always or sometimes have work, receivers that take as long as the test says.

import { createTurns } from '../../src/dispatchers/turns.ts';
import type { Waiting } from '../../src/dispatchers/turns.ts';
import { defaultDispatcherLimits } from '../../src/dispatchers/limits.ts';
import type { DispatcherLimits } from '../../src/dispatchers/limits.ts';
import type { Priority } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { ordinaryShare } from '../../src/domain/tenant.ts';
import type { TenantShare } from '../../src/domain/tenant.ts';

export interface Begun {
  readonly tenant: string;
  readonly priority: Priority;
  /** ms since the beginning. */
  readonly at: number;
}

export interface Simulation {
  readonly begun: readonly Begun[];
  readonly now: number;
  /** In flight now: of one tenant, or of all. */
  inFlight(tenant?: string): number;
  push(tenant: string, priority: Priority, count: number): void;
  /** Everything that happens until then. */
  runTo(ms: number): void;
}

/** As the executor has it. */
const slowAfterMs = 1_000;

export function simulateAttempts(of: {
  readonly tookMs: (tenant: string) => number;
  readonly limits?: Partial<DispatcherLimits>;
  readonly shareOf?: (tenant: string) => TenantShare;
  /** Of the event loop: what ends within one is seen at its end, and what may begin then begins together. Default: each end is a turn. */
  readonly turnMs?: number;
}): Simulation {
  const { tookMs, limits, shareOf = () => ordinaryShare, turnMs = 0 } = of;
  const turns = createTurns<Waiting>({
    limits: { ...defaultDispatcherLimits('WEBHOOK'), ...limits },
    shares: { of: shareOf },
  });
  const begun: Begun[] = [];
  const inFlight = new Map<string, number>();
  /** By time, the next one last. */
  const agenda: { readonly at: number; readonly happens: () => void }[] = [];
  let now = 0;
  let order = 0;

  function plan(due: number, happens: () => void): void {
    const at = turnMs === 0 ? due : Math.ceil(due / turnMs) * turnMs;
    let [low, high] = [0, agenda.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((agenda[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    agenda.splice(low, 0, { at, happens });
  }

  function count(tenant: string, by: number): void {
    inFlight.set(tenant, (inFlight.get(tenant) ?? 0) + by);
  }

  function beginAll(): void {
    for (let item = turns.begin(); item !== undefined; item = turns.begin()) begin(item);
  }

  function begin(item: Waiting): void {
    const { tenantId, priority } = item.event;
    begun.push({ tenant: tenantId, priority, at: now });
    count(tenantId, 1);
    const ms = tookMs(tenantId);
    if (ms > slowAfterMs) plan(now + slowAfterMs, () => turns.noteSlow(item));
    plan(now + ms, () => {
      turns.end(item);
      count(tenantId, -1);
    });
  }

  return {
    begun,
    get now() {
      return now;
    },
    inFlight(tenant) {
      if (tenant !== undefined) return inFlight.get(tenant) ?? 0;
      return [...inFlight.values()].reduce((sum, one) => sum + one, 0);
    },
    push(tenant, priority, pushed) {
      const tenantId = tenant as TenantId;
      for (let i = 0; i < pushed; i++)
        turns.lanes.push(priority, tenantId, { event: { tenantId, priority }, order: order++ });
      beginAll();
    },
    runTo(ms) {
      for (let next = agenda.at(-1); next !== undefined && next.at <= ms; next = agenda.at(-1)) {
        agenda.pop();
        now = next.at;
        next.happens();
        if (turnMs === 0 || agenda.at(-1)?.at !== now) beginAll();
      }
      now = ms;
    },
  };
}
