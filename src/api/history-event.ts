// An event of the log as its tenant is shown it.

import { assertNever } from '../domain/assert-never.ts';
import type { DeliveryRequest, DomainEvent } from '../domain/events.ts';
import type { HistoryEvent } from '../history/tenant-history.ts';
import { positionText } from './position.ts';
import { isoTime, isoTimeOrNull } from './record.ts';

/** Times as ISO 8601, the content in NotificationRequested alone: others have a copy of it. Whose it is and its partition number are left out. */
export function toHistoryEvent({ entry, event }: HistoryEvent) {
  const { type, eventId, occurredAt, traceparent } = event;
  return {
    type,
    eventId,
    occurredAt: isoTime(occurredAt),
    appendedAt: isoTime(entry.appendedAt),
    position: positionText(entry),
    notificationId: 'notificationId' in event ? event.notificationId : null,
    traceparent,
    ...ownOf(event),
  };
}

type Told = Readonly<Record<string, unknown>>;

/** What its type has beside what all have. */
function ownOf(event: DomainEvent): Told {
  switch (event.type) {
    case 'NotificationRequested':
      return { ...ofNotification(event), resendOf: event.resendOf ?? null, request: contentOf(event.request) };
    case 'DeliveryDeferred': {
      const { causeId, attempt, reason, dueAt } = event;
      return { ...ofNotification(event), causeId, attempt, reason, dueAt: isoTime(dueAt) };
    }
    case 'DeliveryDue': {
      const { causeId, attempt, dueAt } = event;
      return { ...ofNotification(event), causeId, attempt, dueAt: isoTime(dueAt) };
    }
    case 'AttemptStarted': {
      const { causeId, attempt, provider } = event;
      return { ...ofNotification(event), causeId, attempt, provider };
    }
    case 'AttemptSucceeded': {
      const { causeId, attempt, provider, role = 'primary', messageId, waitedMs, tookMs } = event;
      return { ...ofNotification(event), causeId, attempt, provider, role, messageId, waitedMs, tookMs };
    }
    case 'AttemptFailed': {
      const { causeId, attempt, provider, role = 'primary', failureClass, code, message, waitedMs, tookMs } = event;
      const how = { errorClass: failureClass, errorCode: code, error: message };
      const nextRetryAt = isoTimeOrNull(event.retryAt);
      return { ...ofNotification(event), causeId, attempt, provider, role, ...how, waitedMs, tookMs, nextRetryAt };
    }
    case 'CancelRequested':
      return ofNotification(event);
    case 'NotificationCancelled':
      return { ...ofNotification(event), causeId: event.causeId };
    case 'RetryRequested':
      return { ...ofNotification(event), attempt: event.attempt };
    case 'ProviderReported': {
      const { channel, provider, report, reportedAt, recipient, permanent, reason } = event;
      return { channel, provider, report, reportedAt: isoTime(reportedAt), recipient, permanent, reason };
    }
    case 'InboxRead':
      return { recipient: event.recipient, notificationIds: event.notificationIds };
    case 'BatchAccepted': {
      const { batchId, accepted, rejected } = event;
      return { batchId, accepted, rejected };
    }
    case 'SettingsChanged': {
      const { subject, subjectId, action, actor } = event;
      return { subject, subjectId, action, actor };
    }
    case 'RecipientSuppressed': {
      const { channel, recipient, reason, actor } = event;
      return { channel, recipient, reason, actor };
    }
    case 'RecipientReleased': {
      const { channel, recipient, actor } = event;
      return { channel, recipient, actor };
    }
    case 'RecipientErased': {
      const { actor, notificationIds, eventIds } = event;
      return { actor, notificationIds, eventIds };
    }
    case 'DeadLettered':
    case 'NotificationsForgotten':
    case 'TenantErased':
    case 'TenantForgotten':
      // An operator's: no tenant's history is read from their topics.
      return {};
    default:
      return assertNever(event);
  }
}

function ofNotification(event: Extract<DomainEvent, { readonly round: number }>): Told {
  const { channel, recipient, priority, requestedAt, round } = event;
  return { channel, recipient, priority, requestedAt: isoTime(requestedAt), round };
}

/** Without what the caller's tracing hands on. */
function contentOf({ tracestate: _tracestate, baggage: _baggage, ...content }: DeliveryRequest): Told {
  const { data, sendAt, expiresAt = null, replyTo = null, cc = [], bcc = [], transactional = false } = content;
  return {
    ...content,
    data: JSON.parse(data) as unknown,
    sendAt: isoTimeOrNull(sendAt),
    expiresAt: isoTimeOrNull(expiresAt),
    replyTo,
    cc,
    bcc,
    transactional,
  };
}
