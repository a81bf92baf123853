// POST /notify, documented.

import { notificationSchema } from '../notification-request.ts';
import * as examples from './examples.ts';
import type { DescribedRoute } from './operation.ts';
import { answers } from './operation.ts';
import { accepted } from './shapes.ts';

/** It stands beside the routes table, in a file of its own: the hot path. */
export const notifyRoute: DescribedRoute = {
  method: 'POST',
  path: '/notify',
  auth: 'apiKey',
  scopes: ['notify'],
  sends: true,
  endpoint: { body: notificationSchema },
  docs: {
    id: 'notify',
    area: 'Sending',
    summary: 'Send a notification',
    description:
      'A 202 means that it is on disk; it is then retried until it is delivered or has failed for good. `templateName`, `rawSubject` and `rawBody` are other names of `template`, `subject` and `body`: ' +
      'both at once must say the same. Give either a template or a body; a raw EMAIL needs a subject as well. A WEBHOOK or an IN_APP notification needs no provider. ' +
      'With an `Idempotency-Key` a request may be repeated until it is answered: whatever became of the connection, one notification comes of it. ' +
      'The W3C headers `traceparent`, `tracestate` (512 characters, 32 members) and `baggage` (8 KiB) go on to a WEBHOOK’s receiver; what is longer or malformed is dropped. ' +
      'Its `webhook-id` is the notification’s id on every try, after a retry by hand with the round behind it (`notif_x.2`): whoever has seen it has had a repeat.',
    requests: {
      'A raw email': { channel: 'EMAIL', recipient: 'ada@example.com', subject: 'Hello', body: '<p>Welcome</p>' },
      'An email by a template': {
        channel: 'EMAIL',
        recipient: 'ada@example.com',
        template: 'welcome',
        data: { name: 'Ada' },
        priority: 'HIGH',
        metadata: { order: '4711' },
      },
      'An email with copies': {
        channel: 'EMAIL',
        recipient: 'ada@example.com',
        replyTo: 'orders@acme.example',
        cc: ['bob@example.com'],
        bcc: ['archive@acme.example'],
        subject: 'Your order',
        body: 'It has left the house.',
      },
      'A text message': { channel: 'SMS', recipient: '+4915112345678', body: 'Your code is 1234' },
      'A webhook, later': {
        channel: 'WEBHOOK',
        recipient: 'https://acme.example/hooks',
        body: 'An order was placed',
        data: { order: 17 },
        sendAt: '2027-01-31T09:00:00Z',
      },
      'A code that is worth nothing in ten minutes': {
        channel: 'SMS',
        recipient: '+4915112345678',
        body: 'Your code is 1234',
        ttlSeconds: 600,
      },
      'Into the inbox': {
        channel: 'IN_APP',
        recipient: 'ada',
        rawSubject: 'Hello',
        rawBody: 'Your order has left the house',
      },
    },
    answer: answers(
      accepted,
      { notificationId: examples.notificationId, notification_id: examples.notificationId, status: 'queued' },
      { status: 202, description: 'Accepted: durable from now on.', position: 'always', isPlaced: true },
    ),
    isKeyed: true,
    refusals: {
      CONFLICT: 'A request with this Idempotency-Key is under way. Try again in 7 s.',
      IDEMPOTENCY_KEY_REUSED:
        'This Idempotency-Key was used for another request within 24 h: repeat that request as it was, or send this one with another key.',
      NO_PROVIDER_CONFIGURED: 'No enabled provider is configured for EMAIL: save one with POST /api/v1/providers.',
      SERVICE_UNAVAILABLE: 'Nothing was accepted: the event log takes nothing at the moment. Send the request again.',
    },
    leadsTo: {
      getSentNotification: { id: 'notificationId' },
      getNotification: { id: 'notificationId' },
      listAttempts: { id: 'notificationId' },
      retryNotification: { id: 'notificationId' },
      cancelNotification: { id: 'notificationId' },
    },
  },
};
