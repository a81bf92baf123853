// An event for a partition number of the test's choosing that carries a number to be recognised by.

import { randomUUID } from 'node:crypto';

import type { NotificationRequested, Priority } from '../../src/domain/events.ts';

/** An EMAIL request; `n` is its recipient. */
export function requested(partition: number, n: number, priority: Priority = 'HIGH'): NotificationRequested {
  return {
    type: 'NotificationRequested',
    eventId: randomUUID() as NotificationRequested['eventId'],
    occurredAt: 1_700_000_000_000 + n,
    tenantId: 'tnt_a' as NotificationRequested['tenantId'],
    traceparent: null,
    notificationId: `notif_${n}` as NotificationRequested['notificationId'],
    requestedAt: 1_700_000_000_000 + n,
    channel: 'EMAIL',
    priority,
    recipient: String(n),
    round: 1,
    partition,
    request: {
      subject: 'Hello',
      body: 'Hello Ada, your order has been shipped.',
      bodyFormat: 'text',
      rawSubject: null,
      rawBody: null,
      data: '{"name":"Ada"}',
      metadata: {},
      template: null,
      sendAt: null,
      batchId: null,
      expiresAt: null,
      tracestate: null,
      baggage: null,
    },
  };
}
