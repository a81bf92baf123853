// What is to be delivered: its form in documents, and until when it is worth an attempt.

import type { DeliveryDue, DeliveryRequest, NotificationContent, WorkEvent } from './events.ts';

/** Fields in one order, and none that says nothing: what was stored before a field was known is the same bytes as what is folded anew. */
export function canonicalContent(request: NotificationContent): NotificationContent {
  const { subject, body, bodyFormat, rawSubject, rawBody, data, metadata, template, sendAt, batchId } = request;
  const { expiresAt = null, replyTo = null, cc = [], bcc = [], transactional = false } = request;
  const fields = { subject, body, bodyFormat, rawSubject, rawBody, data, metadata, template, sendAt, batchId };
  return {
    ...fields,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(replyTo === null ? {} : { replyTo }),
    ...(cc.length === 0 ? {} : { cc }),
    ...(bcc.length === 0 ? {} : { bcc }),
    ...(transactional ? { transactional } : {}),
  };
}

/** A request as documents hold it: its headers only where there are some. */
export type StoredRequest = NotificationContent & Partial<Pick<DeliveryRequest, 'tracestate' | 'baggage'>>;

/** As above, with all that is needed to deliver it. */
export function canonicalRequest(request: DeliveryRequest): StoredRequest {
  const { tracestate, baggage } = request;
  const headers = { ...(tracestate === null ? {} : { tracestate }), ...(baggage === null ? {} : { baggage }) };
  return { ...canonicalContent(request), ...headers };
}

export function deliverable(request: StoredRequest): DeliveryRequest {
  return { ...request, tracestate: request.tracestate ?? null, baggage: request.baggage ?? null };
}

/** The `sendAt` that a work event waits for, however late it is read; null: none. Of a retry by hand only what was ahead as it was asked for: of one that a restore has held. */
export function waitsUntil(event: WorkEvent): number | null {
  const { sendAt } = event.request;
  if (event.type === 'DeliveryDue' || sendAt === null) return null;
  return event.type === 'RetryRequested' && sendAt <= event.occurredAt ? null : sendAt;
}

/** Whether the wait of a retry for its `sendAt` is over. */
export function isDueAgain({ round, dueAt, request }: DeliveryDue): boolean {
  return round > 1 && dueAt === request.sendAt;
}

/** Until when something is worth sending, as it is asked for: by a time, or so many ms after it is to be sent. */
export type Expiry = { readonly kind: 'at'; readonly at: number } | { readonly kind: 'after'; readonly ms: number };

/** UTC ms. The same request accepted again under the same time expires at the same time. */
export function expiresAtOf(expiry: Expiry | null, sendAt: number | null, requestedAt: number): number | null {
  if (expiry === null) return null;
  return expiry.kind === 'at' ? expiry.at : Math.max(requestedAt, sendAt ?? requestedAt) + expiry.ms;
}

/** Whether an attempt would come too late. A timer that was set to its expiry has fired by the clock of another process, which may be ahead of ours. */
export function isExpired(event: WorkEvent, now: number): boolean {
  const { expiresAt = null } = event.request;
  if (expiresAt === null) return false;
  return now >= expiresAt || (event.type === 'DeliveryDue' && event.dueAt >= expiresAt);
}

/** When the next attempt is to be made, or at the expiry, which ends it without one. */
export function dueBeforeExpiry({ expiresAt = null }: NotificationContent, dueAt: number): number {
  return expiresAt === null ? dueAt : Math.min(dueAt, expiresAt);
}
