// Sends a failed notification again: a new round, whose attempt numbers go on.

import { DomainError } from '../domain/errors.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { NotificationFacts } from '../domain/notification.ts';
import { attemptCountOf, roundsMax, statusOf } from '../domain/notification.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import { noTrace } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { appendDurably } from './append.ts';
import { refuseErased } from './erase-notifications.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Two at once name the same round, so their events have one id and make one round. The round's trace is that of the request for it. @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function retryNotification({ log, clock }: Dependencies) {
  return async (facts: NotificationFacts, trace: TraceContext = noTrace): Promise<Position> => {
    const status = statusOf(facts);
    if (status !== 'FAILED' || facts.request === null) {
      throw new DomainError('CONFLICT', `Only a FAILED notification can be sent again; this one is ${status}.`);
    }
    refuseErased(facts);
    const { expiresAt = null } = facts.request;
    if (expiresAt !== null && expiresAt <= clock.now()) {
      throw new DomainError('CONFLICT', 'This notification has expired: send a new one instead.');
    }
    if (facts.round >= roundsMax) {
      throw new DomainError(
        'CONFLICT',
        `This notification was sent ${roundsMax} times, which is the most: send a new one instead.`,
      );
    }
    if (facts.isCut === true) {
      throw new DomainError('CONFLICT', 'This notification was too large to be kept whole: send a new one instead.');
    }
    const round = facts.round + 1;
    const { id, tenantId, requestedAt, channel, priority, recipient, partition, request } = facts;
    const { traceparent, tracestate, baggage } = trace;
    return appendDurably(
      log,
      {
        type: 'RetryRequested',
        eventId: eventIdFrom('retry', id, round),
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
        attempt: attemptCountOf(facts) + 1,
        request: { ...request, tracestate, baggage },
      },
      'The retry',
    );
  };
}
