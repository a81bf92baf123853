// The events that a dispatcher says: each answers its work event (`causeId`) under an id of its own.

import { assertNever } from '../domain/assert-never.ts';
import { dueBeforeExpiry } from '../domain/delivery-request.ts';
import type { DeliveryOutcome, Reason } from '../domain/delivery-outcome.ts';
import type {
  AttemptFailed,
  AttemptStarted,
  AttemptSucceeded,
  DeferralReason,
  DeliveryDeferred,
  NotificationCancelled,
  NotificationEnvelope,
} from '../domain/events.ts';
import type { EventId } from '../domain/ids.ts';
import { eventIdFrom, uuidText } from '../domain/ids.ts';
import { retryDelayMs } from '../domain/retry-policy.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { Attempt } from './attempt.ts';
import type { WorkItem } from './work-item.ts';

export type OutcomeEvent = DeliveryDeferred | AttemptSucceeded | AttemptFailed | NotificationCancelled;

export interface OutcomeEvents {
  /** No attempt was made: it is to be sent at `dueAt`, or then it has expired. */
  deferred(item: WorkItem, dueAt: number, reason: DeferralReason): DeliveryDeferred;
  /** No attempt is made: a person wants it stopped. */
  cancelled(item: WorkItem): NotificationCancelled;
  started(attempt: Attempt, provider: string): AttemptStarted;
  ended(attempt: Attempt, provider: string, outcome: DeliveryOutcome): AttemptSucceeded | AttemptFailed;
}

export function createOutcomeEvents(by: { clock: Clock; retryPolicy: RetryPolicy }): OutcomeEvents {
  const { clock, retryPolicy } = by;

  function envelope(
    item: WorkItem,
    occurredAt: number,
  ): Omit<NotificationEnvelope, 'type'> & { causeId: EventId; attempt: number } {
    const { event, attempt } = item;
    return {
      eventId: uuidText(clock.uuidV7()) as EventId,
      occurredAt,
      tenantId: event.tenantId,
      traceparent: event.traceparent,
      notificationId: event.notificationId,
      requestedAt: event.requestedAt,
      channel: event.channel,
      priority: event.priority,
      recipient: event.recipient,
      round: event.round,
      partition: event.partition,
      causeId: event.eventId,
      attempt,
    };
  }

  function timesOf(attempt: Attempt): { waitedMs: number; tookMs: number } {
    const waitedMs = Math.max(0, Math.round(attempt.startedAt - attempt.item.dueAt));
    return { waitedMs, tookMs: Math.max(0, Math.round(clock.monotonic() - attempt.startedMonotonic)) };
  }

  function failed(
    attempt: Attempt,
    provider: string,
    reason: Reason,
    retryAfterMs: number | null | 'never',
  ): AttemptFailed {
    const { item } = attempt;
    const now = clock.now();
    const delayMs = retryAfterMs === 'never' ? null : delayAfter(item, retryAfterMs);
    return {
      type: 'AttemptFailed',
      ...envelope(item, now),
      firstAttempt: item.firstAttempt,
      provider,
      failureClass: reason.failureClass,
      code: reason.code,
      message: reason.message.slice(0, messageMax),
      ...timesOf(attempt),
      role: attempt.role,
      retryAt: delayMs === null ? null : dueBeforeExpiry(item.event.request, now + Math.round(delayMs)),
      request: delayMs === null ? null : item.event.request,
    };
  }

  function delayAfter(item: WorkItem, retryAfterMs: number | null): number | null {
    const attemptOfRound = item.attempt - item.firstAttempt + 1;
    return retryDelayMs(retryPolicy, { channel: item.event.channel, attemptOfRound, retryAfterMs }, clock.random());
  }

  return {
    deferred(item, dueAt, reason) {
      const { firstAttempt, event } = item;
      return {
        type: 'DeliveryDeferred',
        ...envelope(item, clock.now()),
        firstAttempt,
        reason,
        dueAt: dueBeforeExpiry(event.request, dueAt),
        request: event.request,
      };
    },
    cancelled(item) {
      const { attempt: _, ...rest } = envelope(item, clock.now());
      return { type: 'NotificationCancelled', ...rest, eventId: eventIdFrom('cancelled', item.event.eventId) };
    },
    started: (attempt, provider) => ({
      type: 'AttemptStarted',
      ...envelope(attempt.item, attempt.startedAt),
      provider,
    }),
    ended(attempt, provider, outcome) {
      switch (outcome.kind) {
        case 'delivered':
          return {
            type: 'AttemptSucceeded',
            ...envelope(attempt.item, clock.now()),
            provider,
            messageId: outcome.messageId,
            ...timesOf(attempt),
            role: attempt.role,
          };
        case 'retryable':
          return failed(attempt, provider, outcome.reason, outcome.retryAfterMs);
        case 'rejected':
          return failed(attempt, provider, outcome.reason, 'never');
        default:
          return assertNever(outcome);
      }
    },
  };
}

/** The event's limit is 1 KiB; providers keep to it, this is the belt. */
const messageMax = 1024;
