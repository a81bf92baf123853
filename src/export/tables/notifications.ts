// The notifications as they are: one row each, by the same merge as the records of the API.

import type { NotificationContent, NotificationEvent } from '../../domain/events.ts';
import type { NotificationFacts } from '../../domain/notification.ts';
import { attemptCountOf, deliveredAtOf, mergeEvent, nextRetryAtOf, statusOf } from '../../domain/notification.ts';
import type { Row, Table } from '../columns.ts';
import type { Fold } from '../fold.ts';

export const notificationsTable: Table = {
  name: 'notifications',
  about:
    'One notification, as it is once all events up to the export’s end are told; of a range, those that have an event in it. A later row of an id replaces an earlier one.',
  day: 'createdAt',
  tenant: 'tenantId',
  columns: [
    { name: 'id', kind: 'text', about: 'The notification.' },
    { name: 'tenantId', kind: 'text', about: 'Whose it is.' },
    { name: 'channel', kind: 'text', about: 'EMAIL, SMS, WEBHOOK or IN_APP.' },
    { name: 'recipient', kind: 'text', about: 'Whom it is for.' },
    { name: 'priority', kind: 'text', about: 'HIGH, DEFAULT or BULK.' },
    { name: 'status', kind: 'text', about: 'QUEUED, SCHEDULED, PROCESSING, RETRYING, DELIVERED, FAILED or CANCELLED.' },
    { name: 'templateId', kind: 'text', about: 'The template it was made of.' },
    { name: 'templateName', kind: 'text', about: 'Its name.' },
    { name: 'templateVersion', kind: 'integer', about: 'Its version.' },
    { name: 'subject', kind: 'text', about: 'As it was rendered.' },
    { name: 'body', kind: 'text', about: 'As it was rendered.' },
    { name: 'rawSubject', kind: 'text', about: 'As it was asked for, where no template was used.' },
    { name: 'rawBody', kind: 'text', about: 'As it was asked for, where no template was used.' },
    { name: 'data', kind: 'json', about: 'The request’s data.' },
    { name: 'metadata', kind: 'json', about: 'The request’s metadata.' },
    { name: 'replyTo', kind: 'text', about: 'Of a mail.' },
    { name: 'cc', kind: 'json', about: 'Of a mail: an array of addresses.' },
    { name: 'bcc', kind: 'json', about: 'Of a mail: an array of addresses.' },
    { name: 'transactional', kind: 'boolean', about: 'It goes to suppressed recipients, too.' },
    { name: 'batchId', kind: 'text', about: 'The batch that it came in.' },
    { name: 'resendOf', kind: 'text', about: 'The notification whose content it has: a person sent that once more.' },
    { name: 'provider', kind: 'text', about: 'Of the last attempt that has ended.' },
    { name: 'attemptCount', kind: 'integer', about: 'Attempts so far, over all rounds.' },
    { name: 'round', kind: 'integer', about: '1 for the request, one more for each retry by hand.' },
    { name: 'lastError', kind: 'text', about: 'What the last failed attempt said.' },
    { name: 'lastErrorClass', kind: 'text', about: 'Whose fault that was.' },
    { name: 'lastErrorCode', kind: 'text', about: 'The receiver’s own code of it.' },
    { name: 'createdAt', kind: 'timestamp', about: 'When it was accepted.' },
    { name: 'scheduledAt', kind: 'timestamp', about: 'When it was to be sent, where that was said.' },
    { name: 'expiresAt', kind: 'timestamp', about: 'Until when it is worth sending.' },
    { name: 'updatedAt', kind: 'timestamp', about: 'When something last happened to it.' },
    { name: 'deliveredAt', kind: 'timestamp', about: 'When it was delivered.' },
    { name: 'nextRetryAt', kind: 'timestamp', about: 'When the next attempt is due.' },
    { name: 'latencyMs', kind: 'integer', about: 'From its acceptance to its delivery, as the statistics count it.' },
  ],
};

export function foldNotifications(): Fold {
  const known = new Map<string, { facts: NotificationFacts; isWanted: boolean }>();
  return {
    take(event: NotificationEvent, isOfRange: boolean) {
      const before = known.get(event.notificationId);
      const facts = mergeEvent(before?.facts ?? null, event);
      known.set(event.notificationId, { facts, isWanted: before?.isWanted === true || isOfRange });
    },
    *rows() {
      for (const { facts, isWanted } of known.values())
        if (isWanted && facts.request !== null) yield rowOf(facts, facts.request);
    },
  };
}

function rowOf(facts: NotificationFacts, request: NotificationContent): Row {
  const ended = facts.attempts.filter((attempt) => attempt.outcome !== null);
  const failed = ended.findLast(({ outcome }) => outcome?.kind === 'failed')?.outcome;
  const failure = failed?.kind === 'failed' ? failed : null;
  return [
    facts.id,
    facts.tenantId,
    facts.channel,
    facts.recipient,
    facts.priority,
    statusOf(facts),
    ...contentOf(request),
    facts.resendOf ?? null,
    ended.at(-1)?.outcome?.provider ?? null,
    attemptCountOf(facts),
    facts.round,
    failure?.message ?? null,
    failure?.failureClass ?? null,
    failure?.code ?? null,
    ...timesOf(facts, request),
  ];
}

function contentOf(request: NotificationContent): Row {
  const { template, subject, body, rawSubject, rawBody, data, metadata, batchId } = request;
  const { replyTo = null, cc = [], bcc = [], transactional = false } = request;
  const raw = template === null ? [rawSubject ?? subject, rawBody ?? body] : [null, null];
  const of = [template?.id ?? null, template?.name ?? null, template?.version ?? null];
  const addresses = [replyTo, JSON.stringify(cc), JSON.stringify(bcc)];
  return [...of, subject, body, ...raw, data, JSON.stringify(metadata), ...addresses, transactional, batchId];
}

function timesOf(facts: NotificationFacts, { sendAt, expiresAt = null }: NotificationContent): Row {
  const { requestedAt, updatedAt } = facts;
  const deliveredAt = deliveredAtOf(facts);
  // Clocks of two machines may differ: less than nothing is nothing.
  const latencyMs = deliveredAt === null ? null : Math.max(0, deliveredAt - requestedAt);
  return [requestedAt, sendAt, expiresAt, updatedAt, deliveredAt, nextRetryAtOf(facts), latencyMs];
}
