// Takes up again what was accepted and has neither outcome nor timer: the event that it waits behind is followed by a DeliveryDue, as the scheduler's would be.
// Its id follows from that event, so that it is recognised however often and by how many it is appended.

import { waitsUntil } from '../domain/delivery-request.ts';
import type { DeliveryDue, DeliveryRequest, DomainEvent } from '../domain/events.ts';
import { isNotificationEvent } from '../domain/events.ts';
import type { EventId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { EventLog, Position } from '../ports/event-log.ts';

/** @throws Error when the log can't be read or doesn't take it: nothing was done, or the same may be done again */
export async function takeUpAgain(
  { log, now }: { readonly log: EventLog; readonly now: number },
  since: Position,
): Promise<void> {
  const { topic, partition, offset } = since;
  for await (const { event } of log.read({ topic, partition, from: offset, to: offset + 1 })) {
    const due = event === null ? null : dueAfter(event, now);
    if (due === null) break;
    const result = await log.append(due);
    if (result.kind !== 'durable') throw new Error(`${due.notificationId} was not taken up again: ${result.reason}`);
    return;
  }
  throw new Error(`${topic}, partition ${partition}: there is nothing to be taken up at offset ${offset}`);
}

export interface Next {
  readonly answered: EventId;
  readonly attempt: number;
  readonly firstAttempt: number;
  readonly dueAt: number;
  readonly request: DeliveryRequest;
}

/** Null for an event that nothing is to follow. */
function dueAfter(event: DomainEvent, now: number): DeliveryDue | null {
  const next = nextOf(event);
  if (next === null || !isNotificationEvent(event)) return null;
  const { answered, ...attempt } = next;
  const { tenantId, traceparent, notificationId, requestedAt, channel, priority, recipient, round, partition } = event;
  const of = { tenantId, traceparent, notificationId, requestedAt, channel, priority, recipient, round, partition };
  return {
    type: 'DeliveryDue',
    eventId: eventIdFrom('due', answered),
    occurredAt: now,
    causeId: event.eventId,
    ...of,
    ...attempt,
  };
}

/** What is to follow an event that something waits behind; null: nothing. */
export function nextOf(event: DomainEvent): Next | null {
  switch (event.type) {
    case 'NotificationRequested': {
      const { eventId: answered, request, requestedAt } = event;
      return { answered, attempt: 1, firstAttempt: 1, dueAt: waitsUntil(event) ?? requestedAt, request };
    }
    case 'RetryRequested': {
      const { eventId: answered, attempt, occurredAt, request } = event;
      return { answered, attempt, firstAttempt: attempt, dueAt: waitsUntil(event) ?? occurredAt, request };
    }
    case 'DeliveryDue': {
      const { eventId: answered, attempt, firstAttempt, dueAt, request } = event;
      return { answered, attempt, firstAttempt, dueAt, request };
    }
    case 'DeliveryDeferred': {
      const { causeId: answered, attempt, firstAttempt, dueAt, request } = event;
      return { answered, attempt, firstAttempt, dueAt, request };
    }
    case 'AttemptFailed': {
      const { causeId: answered, attempt, firstAttempt, retryAt: dueAt, request } = event;
      if (dueAt === null || request === null) return null;
      return { answered, attempt: attempt + 1, firstAttempt, dueAt, request };
    }
    default:
      return null;
  }
}
