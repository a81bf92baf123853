// Work events as the accept command, the scheduler and a person's retry append them.

import { randomBytes } from 'node:crypto';

import type {
  Channel,
  DeliveryDue,
  DeliveryRequest,
  NotificationRequested,
  Priority,
  RetryRequested,
} from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom, notificationIdOf, uuidText, uuidV7Bytes } from '../../src/domain/ids.ts';
import type { EventId } from '../../src/domain/ids.ts';
import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';

export interface Wanted {
  readonly tenant?: string;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly recipient?: string;
  readonly body?: string;
  readonly sendAt?: number;
  readonly expiresAt?: number;
}

export function requested(wanted: Wanted = {}): NotificationRequested {
  const {
    tenant = 'tnt_a',
    channel = 'WEBHOOK',
    priority = 'DEFAULT',
    recipient = 'https://example.com/hook',
  } = wanted;
  const tenantId = tenant as TenantId;
  const now = Date.now();
  const notificationId = notificationIdOf(uuidV7Bytes(now, randomBytes(10)));
  return {
    type: 'NotificationRequested',
    eventId: eventIdFrom('requested', notificationId),
    occurredAt: now,
    tenantId,
    traceparent: null,
    notificationId,
    requestedAt: now,
    channel,
    priority,
    recipient,
    round: 1,
    partition: partitionOf({ tenantId, channel, recipient, notificationId }, defaultPartitioning),
    request: requestOf(wanted),
  };
}

/** Requests of one tenant that all have the partition number of the first: what one tracker holds. */
export function requestedTogether(count: number, wanted: Wanted = {}): NotificationRequested[] {
  const events = [requested(wanted)];
  const partition = events[0]?.partition;
  while (events.length < count) {
    const event = requested(wanted);
    if (event.partition === partition) events.push(event);
  }
  return events;
}

export function due(of: NotificationRequested, attempt: number, firstAttempt: number, dueAt = Date.now()): DeliveryDue {
  const causeId = uuidText(randomBytes(16)) as EventId;
  const eventId = eventIdFrom('due', causeId);
  return { ...of, type: 'DeliveryDue', eventId, occurredAt: Date.now(), causeId, attempt, firstAttempt, dueAt };
}

export function retryRequested(of: NotificationRequested, round: number, attempt: number): RetryRequested {
  const eventId = eventIdFrom('retry', of.notificationId, round);
  return { ...of, type: 'RetryRequested', eventId, occurredAt: Date.now(), round, attempt };
}

function requestOf({ body = 'hello', sendAt, expiresAt }: Wanted): DeliveryRequest {
  return {
    subject: null,
    body,
    bodyFormat: 'text',
    rawSubject: null,
    rawBody: null,
    data: '{}',
    metadata: {},
    template: null,
    sendAt: sendAt ?? null,
    batchId: null,
    expiresAt: expiresAt ?? null,
    tracestate: null,
    baggage: null,
  };
}
