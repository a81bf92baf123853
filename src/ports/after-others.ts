// What stands before an event that speaks of what other topics hold, and what behind it. Whoever reads them side by side goes by the same.

import { clocksDifferMs } from '../domain/lease.ts';
import type { EventHead } from './event-log.ts';

/** Of an entry: when the log took it, and what it begins with. */
export interface Moment {
  readonly appendedAt: number;
  readonly head: Pick<EventHead, 'occurredAt'> | null;
}

/**
 * Whether an event of another topic came after the one that speaks of it, beyond doubt: it was appended later, and happened later by more than clocks differ.
 * Either time alone may be a lie: a broker's, whose clock was ahead when it led the partition, or that of the process which said it; and both may run on one machine.
 * So nothing that it names comes behind it, and what comes within that minute counts as named.
 */
export function cameAfter(entry: Moment, speaking: Moment): boolean {
  if (entry.appendedAt <= speaking.appendedAt) return false;
  if (entry.head === null || speaking.head === null) return false;
  return entry.head.occurredAt - speaking.head.occurredAt > clocksDifferMs;
}
