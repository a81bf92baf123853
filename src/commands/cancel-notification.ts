// Asks for a waiting notification to be stopped. The scheduler decides; the caller reads from the record how it ended.

import { DomainError } from '../domain/errors.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { NotificationFacts } from '../domain/notification.ts';
import { statusOf } from '../domain/notification.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { appendDurably } from './append.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Two of the same round have one id: a repeat asks for nothing more. @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function cancelNotification({ log, clock }: Dependencies) {
  return async (facts: NotificationFacts, traceparent: string | null = null): Promise<Position> => {
    const status = statusOf(facts);
    if (status !== 'SCHEDULED' && status !== 'RETRYING') {
      throw new DomainError(
        'CONFLICT',
        `Only a SCHEDULED or RETRYING notification can be cancelled; this one is ${status}.`,
      );
    }
    const { id, tenantId, requestedAt, channel, priority, recipient, round, partition } = facts;
    return appendDurably(
      log,
      {
        type: 'CancelRequested',
        eventId: eventIdFrom('cancel', id, round),
        occurredAt: clock.now(),
        tenantId,
        traceparent,
        notificationId: id,
        requestedAt,
        channel,
        priority,
        recipient,
        round,
        partition,
      },
      'The cancel',
    );
  };
}
