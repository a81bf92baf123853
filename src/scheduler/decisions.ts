// The events that say what was decided of timers; their ids follow from what set the timer, so that whoever says it again says the same.

import { deliverable } from '../domain/delivery-request.ts';
import type { DeliveryDue, NotificationCancelled, NotificationEnvelope } from '../domain/events.ts';
import type { EventId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { Timer, TimersDocument } from '../projections/timers/document.ts';

export type Decision = DeliveryDue | NotificationCancelled;

/** The events of what is decided in `after` and wasn't in `before`. */
export function decisionsOf(after: TimersDocument, now: number, before: TimersDocument | null): Decision[] {
  const decisions: Decision[] = [];
  for (const [id, timer] of Object.entries(after.timers)) {
    if (timer.state === 'waiting' || before?.timers[id]?.state === timer.state) continue;
    decisions.push(timer.state === 'firing' ? dueOf(after, timer, id as EventId, now) : cancelledOf(after, timer, now));
  }
  return decisions;
}

function dueOf(document: TimersDocument, timer: Timer, eventId: EventId, occurredAt: number): DeliveryDue {
  const { setBy: causeId, attempt, firstAttempt, dueAt } = timer;
  const request = deliverable(timer.request);
  const envelope = envelopeOf(document, timer, eventId, occurredAt);
  return { type: 'DeliveryDue', ...envelope, causeId, attempt, firstAttempt, dueAt, request };
}

function cancelledOf(document: TimersDocument, timer: Timer, occurredAt: number): NotificationCancelled {
  const eventId = eventIdFrom('cancelled', timer.answered);
  return { type: 'NotificationCancelled', ...envelopeOf(document, timer, eventId, occurredAt), causeId: timer.setBy };
}

function envelopeOf(
  document: TimersDocument,
  timer: Timer,
  eventId: EventId,
  occurredAt: number,
): NotificationEnvelope {
  const { tenantId, notificationId, requestedAt, channel, priority, recipient, partition } = document;
  const { traceparent, round } = timer;
  const of = { tenantId, traceparent, notificationId, requestedAt, channel, priority, recipient, round, partition };
  return { eventId, occurredAt, ...of };
}
