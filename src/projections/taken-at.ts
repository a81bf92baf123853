// Since when an event waits to be folded.

import type { LogEntry } from '../ports/event-log.ts';

/**
 * UTC ms when the log took it; when it happened, where the log's time is ahead of this clock. The log's times never go back: while a clock that was set back
 * by hours has not come up to them again, nothing would be late by them.
 */
export function takenAt({ appendedAt, head }: Pick<LogEntry, 'appendedAt' | 'head'>, now: number): number {
  return appendedAt <= now ? appendedAt : Math.min(appendedAt, head?.occurredAt ?? appendedAt);
}
