// What is left of an event once its recipient is forgotten, and which events those are.
//
//   NotificationRequested to ada@x.org: 'Your order' ──RecipientErased names it──> NotificationRequested to '': ''
//
// What is counted stays: times, channel, priority, provider, class and code of a failure, template, batch. What was said, and to whom, goes. Erasing and
// folding may be exchanged: a record that is erased is the record of the erased events, so it doesn't matter which of them was met first.

import { assertNever } from './assert-never.ts';
import type { AttemptFacts } from './attempts.ts';
import { canonicalContent } from './delivery-request.ts';
import type { DeliveryRequest, DomainEvent, EventType, NotificationContent } from './events.ts';
import { createIdSet } from './id-set.ts';
import type { NotificationId, TenantId } from './ids.ts';
import type { NotificationFacts } from './notification.ts';
import type { FirstAndLast, ReportsOfNotification } from './reports.ts';

/** In the place of a recipient: no channel takes it for one. */
export const erasedRecipient = '';

/** What one RecipientErased names at most, of each kind: 32 KiB. */
export const erasedIdsMax = 1000;

export function isErased({ recipient }: { readonly recipient: string }): boolean {
  return recipient === erasedRecipient;
}

/** What was asked for without what it said. */
export function erasedContent<C extends NotificationContent>(content: C): C {
  return {
    ...content,
    subject: null,
    body: '',
    rawSubject: null,
    rawBody: null,
    data: '{}',
    metadata: {},
    replyTo: null,
    cc: [],
    bcc: [],
  };
}

function erasedRequest(request: DeliveryRequest): DeliveryRequest {
  return { ...erasedContent(request), tracestate: null, baggage: null };
}

/** The event without what it said of its recipient; one that says nothing of any as it is. */
export function erasedEvent<E extends DomainEvent>(event: E): E;
export function erasedEvent(event: DomainEvent): DomainEvent {
  switch (event.type) {
    case 'NotificationRequested':
    case 'DeliveryDeferred':
    case 'DeliveryDue':
    case 'RetryRequested':
      return { ...event, recipient: erasedRecipient, request: erasedRequest(event.request) };
    case 'AttemptFailed': {
      const request = event.request === null ? null : erasedRequest(event.request);
      return { ...event, recipient: erasedRecipient, message: '', request };
    }
    case 'AttemptSucceeded':
      return { ...event, recipient: erasedRecipient, messageId: null };
    case 'AttemptStarted':
    case 'CancelRequested':
    case 'NotificationCancelled':
    case 'InboxRead':
    case 'RecipientSuppressed':
    case 'RecipientReleased':
      return { ...event, recipient: erasedRecipient };
    case 'ProviderReported':
      return { ...event, recipient: null, reason: null };
    case 'DeadLettered':
      return { ...event, bytes: '' };
    case 'BatchAccepted':
    case 'SettingsChanged':
    case 'NotificationsForgotten':
    case 'RecipientErased':
    case 'TenantErased':
    case 'TenantForgotten':
      return event;
    default:
      return assertNever(event);
  }
}

/** The same of an erased tenant's: without its templates, its people and its counts, too. */
function eventOfErasedTenant(event: DomainEvent): DomainEvent {
  switch (event.type) {
    case 'NotificationRequested':
    case 'DeliveryDeferred':
    case 'DeliveryDue':
    case 'RetryRequested': {
      const erased = erasedEvent(event);
      return { ...erased, request: { ...erased.request, template: null } };
    }
    case 'AttemptFailed': {
      const erased = erasedEvent(event);
      return { ...erased, request: erased.request === null ? null : { ...erased.request, template: null } };
    }
    case 'SettingsChanged':
      return { ...event, subjectId: '', actor: '' };
    case 'RecipientSuppressed':
    case 'RecipientReleased':
      return { ...erasedEvent(event), actor: null };
    case 'RecipientErased':
      return { ...event, actor: null };
    // A link of its number's chain: what others follow.
    case 'NotificationsForgotten':
      return { ...event, notificationIds: [], batchIds: [], kept: [], endedDays: [] };
    default:
      return erasedEvent(event);
  }
}

/** They stand for nothing that was said, and others' events follow from them, or whatever still is of the tenant goes by them. */
const neverPassedOver: ReadonlySet<EventType> = new Set<EventType>([
  'TenantErased',
  'TenantForgotten',
  'RecipientErased',
  'NotificationsForgotten',
]);

/** The same of a record. What was cut from it, since it was too large, is gone with the rest. */
export function erasedFacts(whole: NotificationFacts): NotificationFacts {
  const { isCut: _, ...facts } = whole;
  const request = facts.request === null ? null : canonicalContent(erasedContent(facts.request));
  return { ...facts, recipient: erasedRecipient, request, attempts: facts.attempts.map(erasedAttempt) };
}

function erasedAttempt(attempt: AttemptFacts): AttemptFacts {
  const { outcome } = attempt;
  if (outcome === null) return attempt;
  const said = outcome.kind === 'failed' ? { ...outcome, message: '' } : { ...outcome, messageId: null };
  return { ...attempt, outcome: said };
}

/** The same of what providers have reported. */
export function erasedReports(reports: ReportsOfNotification): ReportsOfNotification {
  const erased = ({ first, last }: FirstAndLast): FirstAndLast => ({
    first: { ...first, recipient: null, reason: null },
    last: { ...last, recipient: null, reason: null },
  });
  return Object.fromEntries(Object.entries(reports).map(([kind, both]) => [kind, erased(both)]));
}

/** Whether readers meet such an event of an erased tenant. */
export function isNeverPassedOver(type: EventType): boolean {
  return neverPassedOver.has(type);
}

/** All that a log has heard of erasures, for good: 23 bytes of each id, a hundredth of what its notification took on the disk. Why none is let go: OPERATIONS, Erasing. */
export interface Erasures {
  /** Whatever else it is told is nothing to it. */
  note(event: DomainEvent): void;
  has(id: NotificationId): boolean;
  /** Whether nothing is left of it. */
  hasTenant(id: TenantId): boolean;
  /** Whether readers aren't to meet it: it is an erased tenant's. */
  isPassedOver(head: { readonly type: EventType; readonly tenantId: TenantId } | null): boolean;
  /** The event as it may be seen. */
  shown<E extends DomainEvent>(event: E): E;
}

export function createErasures(): Erasures {
  const notifications = createIdSet();
  const events = createIdSet();
  const tenants = new Set<TenantId>();

  const isHidden = (event: DomainEvent): boolean => {
    if ('notificationId' in event && notifications.has(event.notificationId)) return true;
    if (event.type === 'InboxRead' && event.notificationIds.some((id) => notifications.has(id))) return true;
    return events.has(event.eventId);
  };

  return {
    note(event) {
      if (event.type === 'TenantErased') tenants.add(event.tenantId);
      if (event.type !== 'RecipientErased') return;
      for (const id of event.notificationIds) notifications.add(id);
      for (const id of event.eventIds) events.add(id);
    },
    has: (id) => notifications.has(id),
    hasTenant: (id) => tenants.has(id),
    isPassedOver: (head) =>
      tenants.size > 0 && head !== null && tenants.has(head.tenantId) && !isNeverPassedOver(head.type),
    shown<E extends DomainEvent>(event: E): E {
      if (tenants.size > 0 && tenants.has(event.tenantId)) return eventOfErasedTenant(event) as E;
      return notifications.size + events.size > 0 && isHidden(event) ? erasedEvent(event) : event;
    },
  };
}
