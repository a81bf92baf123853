// Refusals that come one after another are answered in a line: what is refused costs the thread as much as what is served, and nothing else bounds how often
// somebody asks for what he doesn't get.
//
//   of a caller    [ 100 at once ][ then one each 10 ms, 2 s late at most ]      callers: each tenant, and all together of whom nobody is known
//
// What is wrong with a notification that RATE_LIMIT counts takes a quarter of that time: of who sends 4,000 a second a tenth may be wrong, and none is late.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Metrics } from '../ports/metrics.ts';
import { createAnswerLine } from './answer-line.ts';

/** Resolves when a refusal may be answered; null: of nobody that is known. */
export type RefusalLine = (tenantId: TenantId | null, of?: keyof typeof everyMsOf) => Promise<void>;

const everyMsOf = { uncounted: 10, counted: 2.5 } as const;
/** Half of a process's connections may wait. */
const lineLimits = { atOnce: 100, lateMaxMs: 2000, waitingMax: 2000 };

interface Dependencies {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly metrics: Pick<Metrics, 'gauge'>;
}

export function createRefusalLine({ clock, metrics }: Dependencies): RefusalLine {
  const line = createAnswerLine<TenantId | null>(lineLimits, clock);
  metrics.gauge('herald_refusals_waiting', line.waiting);
  return (tenantId, of = 'uncounted') => line.turnOf(tenantId, everyMsOf[of]);
}
