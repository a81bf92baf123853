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

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));
const threeDigits = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));
/** The last one that was written; its text ends before the hour. */
let day = { begins: Number.NaN, text: '' };

/** As a date writes itself, at a fraction of the cost while they are of one day: a page or a series has some 700. @throws RangeError as that does */
export function isoTime(timeMs: number): string {
  const wholeMs = Math.trunc(timeMs);
  const begins = Math.floor(wholeMs / dayMs) * dayMs;
  if (begins !== day.begins) day = { begins, text: new Date(begins).toISOString().slice(0, -'00:00:00.000Z'.length) };
  const ms = wholeMs - begins;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const [hour, minute] = [twoDigits[Math.floor(minutes / 60)], twoDigits[minutes % 60]];
  return `${day.text}${hour}:${minute}:${twoDigits[seconds % 60]}.${threeDigits[ms % 1000]}Z`;
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
