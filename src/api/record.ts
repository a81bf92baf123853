// A notification and its attempts as the API shows them.

import type { AttemptFacts, AttemptOutcome } from '../domain/attempts.ts';
import { attemptCountOf, deliveredAtOf, nextRetryAtOf } from '../domain/notification.ts';
import type { ListedNotification } from '../projections/notifications/document.ts';
import type { ShownReport } from '../projections/notifications/reports.ts';

export function toRecord(document: ListedNotification) {
  const { request, attempts } = document;
  const ended = attempts.filter(hasOutcome);
  const lastFailed = ended.findLast(({ outcome }) => outcome.kind === 'failed');
  const last = ended.at(-1);
  return {
    id: document.id,
    channel: document.channel,
    recipient: document.recipient,
    priority: document.priority,
    status: document.status,
    template: request.template,
    subject: request.subject,
    body: request.body,
    rawSubject: request.template === null ? (request.rawSubject ?? request.subject) : null,
    rawBody: request.template === null ? (request.rawBody ?? request.body) : null,
    data: JSON.parse(request.data) as unknown,
    metadata: request.metadata,
    replyTo: request.replyTo ?? null,
    cc: request.cc ?? [],
    bcc: request.bcc ?? [],
    transactional: request.transactional ?? false,
    batchId: request.batchId,
    resendOf: document.resendOf ?? null,
    provider: last?.outcome.provider ?? null,
    attemptCount: attemptCountOf(document),
    lastError: lastFailed === undefined ? null : errorOf(lastFailed.outcome),
    attempts: last === undefined ? [] : [toAttempt(last)],
    createdAt: isoTime(document.requestedAt),
    scheduledAt: isoTimeOrNull(request.sendAt),
    expiresAt: isoTimeOrNull(request.expiresAt ?? null),
    updatedAt: isoTime(document.updatedAt),
    deliveredAt: isoTimeOrNull(deliveredAtOf(document)),
    failedAt: isoTimeOrNull(document.failedAt),
    nextRetryAt: isoTimeOrNull(nextRetryAtOf(document)),
  };
}

/** Ascending; one that is still in flight isn't among them. */
export function toAttempts({ attempts }: ListedNotification) {
  return attempts.filter(hasOutcome).map(toAttempt);
}

/** What its provider has told of it since. */
export function toReport({ eventId: id, kind, reportedAt, provider, recipient, permanent, reason }: ShownReport) {
  return { id, kind, at: isoTime(reportedAt), provider, recipient, permanent, reason };
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

export function isoTimeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : isoTime(timeMs);
}

interface EndedAttempt extends AttemptFacts {
  readonly outcome: AttemptOutcome;
}

function hasOutcome(attempt: AttemptFacts): attempt is EndedAttempt {
  return attempt.outcome !== null;
}

function toAttempt({ attempt, startedAt, outcome }: EndedAttempt) {
  const failed = outcome.kind === 'failed' ? outcome : null;
  return {
    id: outcome.eventId,
    attemptNumber: attempt,
    status: failed === null ? 'DELIVERED' : 'FAILED',
    provider: outcome.provider,
    role: outcome.role ?? 'primary',
    messageId: outcome.kind === 'succeeded' ? outcome.messageId : null,
    error: failed?.message ?? null,
    errorCode: failed?.code ?? null,
    errorClass: failed?.failureClass ?? null,
    attemptedAt: isoTime(startedAt ?? outcome.occurredAt - outcome.tookMs),
    waitedMs: outcome.waitedMs,
    tookMs: outcome.tookMs,
    nextRetryAt: isoTimeOrNull(failed?.retryAt ?? null),
  };
}

function errorOf(outcome: AttemptOutcome): string | null {
  return outcome.kind === 'failed' ? outcome.message : null;
}
