// The attempts: one row for each that was made, whatever was told of it how often.

import type { AttemptFacts } from '../../domain/attempts.ts';
import { outcomeOf, withAttempt } from '../../domain/attempts.ts';
import type { NotificationEvent } from '../../domain/events.ts';
import { exportedAtColumn, type Row, type Table } from '../columns.ts';
import type { Fold, FoldedEvent } from '../fold.ts';

export const attemptsTable: Table = {
  name: 'attempts',
  about:
    'One attempt to deliver a notification, as it is once all events up to the export’s end are told; of a range, those that have an event in it. A later row of a notification and number, by `exportedAt`, replaces an earlier one.',
  day: 'attemptedAt',
  tenant: 'tenantId',
  columns: [
    { name: 'notificationId', kind: 'text', about: 'The notification.' },
    { name: 'attemptNumber', kind: 'integer', about: 'From 1 on, over all rounds.' },
    { name: 'round', kind: 'integer', about: '1 for the request, one more for each retry by hand.' },
    { name: 'attemptId', kind: 'text', about: 'Of the event that tells its outcome.' },
    { name: 'tenantId', kind: 'text', about: 'Whose it is.' },
    { name: 'channel', kind: 'text', about: 'EMAIL, SMS, WEBHOOK or IN_APP.' },
    { name: 'priority', kind: 'text', about: 'HIGH, DEFAULT or BULK.' },
    { name: 'recipient', kind: 'text', about: 'Whom it was for.' },
    { name: 'status', kind: 'text', about: 'DELIVERED, FAILED, or STARTED while no outcome is known.' },
    { name: 'provider', kind: 'text', about: 'Which one was called.' },
    { name: 'role', kind: 'text', about: 'primary or fallback.' },
    { name: 'errorClass', kind: 'text', about: 'Whose fault it was.' },
    { name: 'errorCode', kind: 'text', about: 'The receiver’s own code.' },
    { name: 'error', kind: 'text', about: 'What it said.' },
    { name: 'messageId', kind: 'text', about: 'The provider’s own id of the message.' },
    { name: 'attemptedAt', kind: 'timestamp', about: 'When it began.' },
    { name: 'endedAt', kind: 'timestamp', about: 'When its outcome was known.' },
    { name: 'waitedMs', kind: 'integer', about: 'From when it was due to its beginning.' },
    { name: 'tookMs', kind: 'integer', about: 'The attempt itself.' },
    { name: 'nextRetryAt', kind: 'timestamp', about: 'When the next one was to be made.' },
    exportedAtColumn,
  ],
};

interface Attempt {
  readonly of: NotificationEvent;
  readonly facts: readonly AttemptFacts[];
  readonly isWanted: boolean;
}

/** @param exportedAt UTC ms */
export function foldAttempts(exportedAt: number): Fold {
  const known = new Map<string, Attempt>();
  return {
    take(event: FoldedEvent, isOfRange: boolean) {
      if (event.type === 'ProviderReported') return;
      const told = toldBy(event);
      if (told === null) return;
      const key = `${event.notificationId} ${told.attempt}`;
      const before = known.get(key);
      const facts = withAttempt(before?.facts ?? [], told);
      known.set(key, { of: event, facts, isWanted: before?.isWanted === true || isOfRange });
    },
    *rows() {
      for (const { of, facts, isWanted } of known.values())
        for (const attempt of facts) if (isWanted) yield [...rowOf(of, attempt), exportedAt];
    },
  };
}

function toldBy(event: NotificationEvent): AttemptFacts | null {
  if (event.type === 'AttemptStarted')
    return { attempt: event.attempt, round: event.round, startedAt: event.occurredAt, outcome: null };
  if (event.type !== 'AttemptSucceeded' && event.type !== 'AttemptFailed') return null;
  return { attempt: event.attempt, round: event.round, startedAt: null, outcome: outcomeOf(event) };
}

function rowOf(of: NotificationEvent, { attempt, round, startedAt, outcome }: AttemptFacts): Row {
  const { notificationId, tenantId, channel, priority, recipient } = of;
  const envelope = [tenantId, channel, priority, recipient];
  if (outcome === null) {
    const provider = of.type === 'AttemptStarted' ? of.provider : null;
    const unknown = [null, null, null, null, null];
    return [
      notificationId,
      attempt,
      round,
      null,
      ...envelope,
      'STARTED',
      provider,
      ...unknown,
      startedAt,
      null,
      null,
      null,
      null,
    ];
  }
  const { eventId, occurredAt, provider, waitedMs, tookMs, role = 'primary' } = outcome;
  const failed = outcome.kind === 'failed' ? outcome : null;
  const how = [failed?.failureClass ?? null, failed?.code ?? null, failed?.message ?? null];
  const messageId = outcome.kind === 'succeeded' ? outcome.messageId : null;
  const times = [startedAt ?? occurredAt - tookMs, occurredAt, waitedMs, tookMs, failed?.retryAt ?? null];
  const status = failed === null ? 'DELIVERED' : 'FAILED';
  return [notificationId, attempt, round, eventId, ...envelope, status, provider, role, ...how, messageId, ...times];
}
