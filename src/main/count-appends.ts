// Counts the appends that the log did not acknowledge, of one thread.

import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { Metrics } from '../ports/metrics.ts';

export type NoteAppend = (result: AppendResult) => void;

export function createAppendCount(metrics: Pick<Metrics, 'increment'>): NoteAppend {
  const count = (outcome: 'refused' | 'unknown', by?: number) =>
    metrics.increment('herald_appends_failed_total', { outcome }, by);
  count('refused', 0);
  count('unknown', 0);
  return ({ kind }) => {
    if (kind !== 'durable') count(kind);
  };
}

/** The same log, of which each result is noted before whoever appended has it. */
export function noteAppends<L extends Pick<EventLog, 'append' | 'appendAll' | 'appendEncoded'>>(
  log: L,
  note: NoteAppend,
): L {
  const noted = (result: AppendResult): AppendResult => {
    note(result);
    return result;
  };
  return {
    ...log,
    append: (event) => log.append(event).then(noted),
    appendAll: (events) => log.appendAll(events).then((results) => results.map(noted)),
    appendEncoded: (tenantId, events) => log.appendEncoded(tenantId, events).then((results) => results.map(noted)),
  };
}
