// The notifications as they are: one row each, by the same merge as the records of the API.

import type { NotificationContent, ReportKind } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { NotificationFacts } from '../../domain/notification.ts';
import { attemptCountOf, deliveredAtOf, mergeEvent, nextRetryAtOf, statusOf } from '../../domain/notification.ts';
import type { ReportsOfNotification } from '../../domain/reports.ts';
import { withReport } from '../../domain/reports.ts';
import { exportedAtColumn, type Row, type Table } from '../columns.ts';
import type { Fold, FoldedEvent } from '../fold.ts';

export const notificationsTable: Table = {
  name: 'notifications',
  about:
    'One notification, as it is once all events up to the export’s end are told; of a range, those that have an event in it. A later row of an id, by `exportedAt`, replaces an earlier one.',
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
    {
      name: 'messageId',
      kind: 'text',
      about: 'The provider’s own id of the message, where that attempt delivered it.',
    },
    { name: 'attemptCount', kind: 'integer', about: 'Attempts so far, over all rounds.' },
    { name: 'round', kind: 'integer', about: '1 for the request, one more for each retry by hand.' },
    { name: 'lastError', kind: 'text', about: 'What the last failed attempt said.' },
    { name: 'lastErrorClass', kind: 'text', about: 'Whose fault that was.' },
    { name: 'lastErrorCode', kind: 'text', about: 'The receiver’s own code of it.' },
    { name: 'createdAt', kind: 'timestamp', about: 'When it was accepted.' },
    { name: 'scheduledAt', kind: 'timestamp', about: 'When it was to be sent, where that was said.' },
    { name: 'expiresAt', kind: 'timestamp', about: 'Until when it is worth sending.' },
    {
      name: 'updatedAt',
      kind: 'timestamp',
      about: 'When something last happened to it; what its provider reports does not count.',
    },
    { name: 'deliveredAt', kind: 'timestamp', about: 'When it was delivered.' },
    { name: 'failedAt', kind: 'timestamp', about: 'When it came to be FAILED; null unless that is its status.' },
    { name: 'nextRetryAt', kind: 'timestamp', about: 'When the next attempt is due.' },
    { name: 'latencyMs', kind: 'integer', about: 'From its acceptance to its delivery, as the statistics count it.' },
    { name: 'reportedDeliveredAt', kind: 'timestamp', about: 'When its provider first reported its delivery.' },
    { name: 'bouncedAt', kind: 'timestamp', about: 'When its provider first reported a bounce.' },
    { name: 'bounceReason', kind: 'text', about: 'In the provider’s words, of the last bounce.' },
    { name: 'complainedAt', kind: 'timestamp', about: 'When its provider first reported a complaint.' },
    { name: 'openedAt', kind: 'timestamp', about: 'When its provider first reported that it was opened.' },
    { name: 'clickedAt', kind: 'timestamp', about: 'When its provider first reported a click in it.' },
    exportedAtColumn,
  ],
};

interface Known {
  /** null: only reports of it were told so far. */
  readonly facts: NotificationFacts | null;
  /** By whose provider told them: a report names any notification. */
  readonly reports: ReadonlyMap<TenantId, ReportsOfNotification>;
  readonly isWanted: boolean;
}

const unknown: Known = { facts: null, reports: new Map(), isWanted: false };

/** @param exportedAt UTC ms */
export function foldNotifications(exportedAt: number): Fold {
  const known = new Map<string, Known>();
  return {
    take(event: FoldedEvent, isOfRange: boolean) {
      const before = known.get(event.notificationId) ?? unknown;
      const isWanted = before.isWanted || isOfRange;
      if (event.type !== 'ProviderReported') {
        known.set(event.notificationId, { ...before, facts: mergeEvent(before.facts, event), isWanted });
        return;
      }
      const { tenantId } = event;
      const reports = new Map(before.reports).set(tenantId, withReport(before.reports.get(tenantId) ?? {}, event));
      known.set(event.notificationId, { ...before, reports, isWanted });
    },
    *rows() {
      for (const { facts, reports, isWanted } of known.values()) {
        if (!isWanted || facts === null || facts.request === null) continue;
        yield [...rowOf(facts, facts.request, reports.get(facts.tenantId) ?? {}), exportedAt];
      }
    },
  };
}

function rowOf(facts: NotificationFacts, request: NotificationContent, reports: ReportsOfNotification): Row {
  const ended = facts.attempts.filter((attempt) => attempt.outcome !== null);
  const last = ended.at(-1)?.outcome ?? null;
  const status = statusOf(facts);
  const failed = ended.findLast(({ outcome }) => outcome?.kind === 'failed')?.outcome;
  const failure = failed?.kind === 'failed' ? failed : null;
  return [
    facts.id,
    facts.tenantId,
    facts.channel,
    facts.recipient,
    facts.priority,
    status,
    ...contentOf(request),
    facts.resendOf ?? null,
    last?.provider ?? null,
    last?.kind === 'succeeded' ? last.messageId : null,
    attemptCountOf(facts),
    facts.round,
    failure?.message ?? null,
    failure?.failureClass ?? null,
    failure?.code ?? null,
    ...timesOf(facts, request),
    status === 'FAILED' && last?.kind === 'failed' ? last.occurredAt : null,
    nextRetryAtOf(facts),
    latencyOf(facts),
    ...reportedOf(reports),
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
  return [facts.requestedAt, sendAt, expiresAt, facts.updatedAt, deliveredAtOf(facts)];
}

/** Clocks of two machines may differ: less than nothing is nothing. */
function latencyOf(facts: NotificationFacts): number | null {
  const deliveredAt = deliveredAtOf(facts);
  return deliveredAt === null ? null : Math.max(0, deliveredAt - facts.requestedAt);
}

function reportedOf(reports: ReportsOfNotification): Row {
  const first = (kind: ReportKind) => reports[kind]?.first.reportedAt ?? null;
  const bounce = [first('bounced'), reports.bounced?.last.reason ?? null];
  return [first('delivered'), ...bounce, first('complained'), first('opened'), first('clicked')];
}
