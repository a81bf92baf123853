// Counts the appends that the log did not acknowledge, of one thread.

import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { Metrics } from '../ports/metrics.ts';

/** The same log. */
export function countAppends<L extends Pick<EventLog, 'append' | 'appendAll'>>(
  log: L,
  metrics: Pick<Metrics, 'increment'>,
): L {
  const count = (outcome: 'refused' | 'unknown', by?: number) =>
    metrics.increment('herald_appends_failed_total', { outcome }, by);
  count('refused', 0);
  count('unknown', 0);
  const note = (result: AppendResult): AppendResult => {
    if (result.kind !== 'durable') count(result.kind);
    return result;
  };
  return {
    ...log,
    append: (event) => log.append(event).then(note),
    appendAll: (events) => log.appendAll(events).then((results) => results.map(note)),
  };
}
