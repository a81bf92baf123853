// Why a notification is where it is: what happened to it, in order, in sentences. Pure: of the record, its attempts and its providers' reports.

import { duration } from '../../format.ts';
import type { Attempt, Notification, Report } from '../../wire.ts';

export interface Step {
  readonly key: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly title: string;
  readonly kind: 'plain' | 'good' | 'bad' | 'later';
  readonly facts: readonly string[];
  /** In the words of the receiver or the provider. */
  readonly said: string | null;
}

/** The oldest first. */
export function timelineOf(
  notification: Notification,
  attempts: readonly Attempt[],
  reports: readonly Report[],
  now: number,
): Step[] {
  const steps = [
    accepted(notification),
    ...attempts.map(attempted),
    ...reports.map(reported),
    ...ended(notification, attempts),
    ...stillToCome(notification, now),
  ];
  return steps.toSorted((a, b) => a.at.localeCompare(b.at));
}

function accepted({ createdAt, priority, template, scheduledAt, resendOf, batchId }: Notification): Step {
  return {
    key: 'accepted',
    at: createdAt,
    title: 'Accepted',
    kind: 'plain',
    facts: [
      `lane ${priority}`,
      ...(template === null ? [] : [`template ${template.name}, version ${template.version}`]),
      ...(scheduledAt === null ? [] : ['it waits for its time']),
      ...(batchId === null ? [] : [`batch ${batchId}`]),
      ...(resendOf === null ? [] : [`with the content of ${resendOf}`]),
    ],
    said: null,
  };
}

function attempted(attempt: Attempt): Step {
  const { id, attemptNumber, status, provider, role, attemptedAt, waitedMs, tookMs, error, errorClass, errorCode } =
    attempt;
  const isDelivered = status === 'DELIVERED';
  return {
    key: id,
    at: attemptedAt,
    title: `Attempt ${attemptNumber}: ${isDelivered ? 'delivered' : 'failed'}`,
    kind: isDelivered ? 'good' : 'bad',
    facts: [
      `${provider}${role === 'fallback' ? ', the fallback' : ''}`,
      `waited ${duration(waitedMs)}`,
      `took ${duration(tookMs)}`,
      ...(errorCode === null ? [] : [`answer ${errorCode}`]),
      ...(errorClass === null ? [] : [classes[errorClass]]),
      ...(isDelivered ? [] : [attempt.nextRetryAt === null ? 'no further try' : 'it is tried again']),
      ...(attempt.messageId === null ? [] : [`message id ${attempt.messageId}`]),
    ],
    said: error,
  };
}

const classes: Readonly<Record<NonNullable<Attempt['errorClass']>, string>> = {
  recipient: 'the recipient can’t be reached (class recipient)',
  credentials: 'the provider refuses the credentials (class credentials)',
  content: 'the content is refused (class content)',
  blocked: 'the address is not allowed (class blocked)',
  expired: 'its time was over (class expired)',
  provider: 'the provider fails (class provider)',
  network: 'nobody answered (class network)',
  system: 'a fault of Herald’s (class system)',
};

function reported({ id, at, kind, provider, permanent, reason, recipient }: Report): Step {
  return {
    key: id,
    at,
    title: `${provider} reports: ${kind}`,
    kind: kind === 'bounced' || kind === 'complained' ? 'bad' : 'good',
    facts: [
      ...(recipient === null ? [] : [`about ${recipient}`]),
      ...(permanent ? ['permanent: it is on the suppression list'] : []),
    ],
    said: reason,
  };
}

/** What ended without an attempt. */
function ended({ status, updatedAt, failedAt, lastError }: Notification, attempts: readonly Attempt[]): Step[] {
  const plain = { key: 'ended', facts: [], said: null };
  if (status === 'CANCELLED') return [{ ...plain, at: updatedAt, title: 'Cancelled', kind: 'plain' }];
  const isOfAttempt = attempts.some(({ status: of, nextRetryAt }) => of === 'FAILED' && nextRetryAt === null);
  if (status !== 'FAILED' || failedAt === null || isOfAttempt) return [];
  return [{ ...plain, at: failedAt, title: 'Ended without an attempt', kind: 'bad', said: lastError }];
}

function stillToCome({ status, scheduledAt, nextRetryAt, expiresAt }: Notification, now: number): Step[] {
  const waits = status === 'SCHEDULED' ? scheduledAt : status === 'RETRYING' ? nextRetryAt : null;
  const isOpen = status !== 'DELIVERED' && status !== 'FAILED' && status !== 'CANCELLED';
  const next = { facts: [], said: null, kind: 'later' } as const;
  return [
    ...(waits === null
      ? []
      : [
          {
            ...next,
            key: 'next',
            at: waits,
            title: Date.parse(waits) > now ? 'Next try' : 'Due, waiting for its turn',
          },
        ]),
    ...(isOpen && expiresAt !== null
      ? [{ ...next, key: 'expires', at: expiresAt, title: 'Ends, if it isn’t delivered by then' }]
      : []),
  ];
}
