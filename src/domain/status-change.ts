// What the dashboard's stream announces of one event: the status it leads to, ranked so that a notification is never seen to go backwards.

import { assertNever } from './assert-never.ts';
import { isDueAgain, waitsUntil } from './delivery-request.ts';
import type { NotificationEvent } from './events.ts';
import type { NotificationId } from './ids.ts';
import type { NotificationFacts, Status } from './notification.ts';
import { lastBegunOf, lastOutcomeOf, statusOf } from './notification.ts';

export interface StatusChange {
  readonly status: Status;
  /** Of (round, attempt, status) as one number: greater is later. */
  readonly rank: number;
  /** Why an attempt failed. */
  readonly error: string | null;
}

/** The status that an event leads to by itself; null when it changes none. */
export function statusChangeOf(event: NotificationEvent): StatusChange | null {
  switch (event.type) {
    case 'NotificationRequested':
    case 'RetryRequested':
      return changeTo(waitsUntil(event) === null ? 'QUEUED' : 'SCHEDULED', event.round, 0);
    case 'DeliveryDue':
      return event.attempt === 1 || isDueAgain(event) ? changeTo('QUEUED', event.round, 0) : null;
    case 'AttemptStarted':
      return changeTo('PROCESSING', event.round, event.attempt);
    case 'AttemptSucceeded':
      return changeTo('DELIVERED', event.round, endOfRound);
    case 'AttemptFailed':
      return changeTo(event.retryAt === null ? 'FAILED' : 'RETRYING', event.round, event.attempt, event.message);
    case 'NotificationCancelled':
      return changeTo('CANCELLED', event.round, endOfRound);
    case 'DeliveryDeferred':
    case 'CancelRequested':
      return null;
    default:
      return assertNever(event);
  }
}

/** What led to the status that it has. */
export function lastChangeOf(facts: NotificationFacts): StatusChange {
  const status = statusOf(facts);
  const { round } = facts;
  const attempt = lastBegunOf(facts)?.attempt ?? 0;
  switch (status) {
    case 'SCHEDULED':
    case 'QUEUED':
      return changeTo(status, round, 0);
    case 'PROCESSING':
      return changeTo(status, round, attempt);
    case 'RETRYING':
    case 'FAILED': {
      const outcome = lastOutcomeOf(facts);
      return changeTo(status, round, attempt, outcome?.kind === 'failed' ? outcome.message : null);
    }
    case 'DELIVERED':
    case 'CANCELLED':
      return changeTo(status, round, endOfRound);
    default:
      return assertNever(status);
  }
}

export type StatusFilter = ReturnType<typeof createStatusFilter>;

/**
 * Remembers the highest rank announced per notification and lets only higher ones through. It holds `notificationsMax` of them (about 100 bytes each)
 * and forgets the one that has been silent for longest; two at a time where that comes to be less.
 */
export function createStatusFilter(notificationsMax: () => number) {
  const announced = new Map<NotificationId, number>();
  let hasForgotten = false;
  return {
    /** Whether something may have been announced of it that isn't remembered. */
    mayHaveForgotten: (id: NotificationId): boolean => hasForgotten && !announced.has(id),
    /** Whether the change is news. */
    isLater(id: NotificationId, change: StatusChange): boolean {
      const before = announced.get(id);
      if (before !== undefined && before >= change.rank) return false;
      announced.delete(id);
      announced.set(id, change.rank);
      const max = notificationsMax();
      let forgotten = 0;
      for (const [oldest] of announced) {
        if (announced.size <= max || ++forgotten > 2) break;
        announced.delete(oldest);
        hasForgotten = true;
      }
      return true;
    },
  };
}

/** Of one attempt a success counts before a final failure, and that before one with a retry; a success or a cancel ends its round, whatever else is told of it. */
const order: Readonly<Record<Status, number>> = {
  SCHEDULED: 0,
  QUEUED: 1,
  PROCESSING: 2,
  RETRYING: 3,
  FAILED: 4,
  CANCELLED: 5,
  DELIVERED: 6,
};

// 2^53 holds 2^21 rounds of 2^29 attempts of 8 statuses.
const statusesPerAttempt = 8;
const attemptsPerRound = 2 ** 29;
const endOfRound = attemptsPerRound - 1;

function changeTo(status: Status, round: number, attempt: number, error: string | null = null): StatusChange {
  const rank = (round * attemptsPerRound + Math.min(attempt, endOfRound)) * statusesPerAttempt + order[status];
  return { status, rank, error };
}
