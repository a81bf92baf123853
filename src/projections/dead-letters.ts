// Bytes that don't decode, kept in the dead-letters topic.

import type { DeadLettered } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';

/** @throws Error when the log doesn't say that it is durable */
export async function appendDeadLetter(log: Pick<EventLog, 'append'>, entry: LogEntry, reason: string): Promise<true> {
  const result = await log.append(deadLetterOf(entry, reason));
  if (result.kind === 'durable') return true;
  throw new Error(`the dead letter was not appended (${result.kind}): ${result.reason}`);
}

/** Its tenant is in the bytes that don't decode; its time is the log's, so that a repeat is the same event. */
function deadLetterOf(entry: LogEntry, reason: string): DeadLettered {
  const { topic, partition, offset } = entry;
  return {
    type: 'DeadLettered',
    eventId: eventIdFrom('dead', topic, partition, offset),
    occurredAt: entry.appendedAt,
    tenantId: 'unknown' as TenantId,
    traceparent: null,
    topic,
    partition,
    offset,
    reason,
    bytes: entry.undecodable?.bytes ?? '',
  };
}
