// Notifications as records, documented.

import { z } from 'zod';

import { attemptsKeptMax } from '../../domain/attempts.ts';
import { roundsMax } from '../../domain/notification.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { metadataQuery, notificationParam } from './params.ts';
import { accepted, attempt, count, message, nextCursor, notification, report } from './shapes.ts';

const area = 'Log';
const params = { id: notificationParam };
const noSuch = 'There is no such notification.';

const one = answers(
  z.object({ notification }),
  { notification: examples.notification },
  { description: 'The notification.' },
);

const showByKey: OperationDocs = {
  id: 'getSentNotification',
  area: 'Sending',
  summary: 'What became of a notification',
  params,
  answer: one,
  refusals: { NOT_FOUND: noSuch },
};

const list: OperationDocs = {
  id: 'listNotifications',
  area,
  summary: 'The log, newest first',
  description:
    'Filters combine; with `failedFrom` or `failedTo` the newest failure comes first, unless a recipient, a batch, a message id or a search is asked for as well. Go on with `cursor`; `page` works too, down to row 10,000. A page ends at 1 MiB, one record at least, and rare combinations of filters may give a short one: `nextCursor` goes on right behind it, also behind one that was asked for by `page`.',
  freeQuery: metadataQuery,
  answer: answers(
    z.object({
      data: z.array(notification),
      pagination: z.object({
        limit: z.int().min(1),
        total: count,
        totalIsExact: z
          .boolean()
          .describe(
            'false: there are at least `total`. What the statistics count is exact, and a batch; a recipient, a template and facts together are counted up to 1,000, a search up to 10,000.',
          ),
        nextCursor,
        page: z.int().min(1).nullable().describe('null: this page was asked for by a cursor.'),
        totalPages: count,
      }),
    }),
    {
      data: [examples.notification],
      pagination: { limit: 20, total: 1, totalIsExact: true, nextCursor: null, page: 1, totalPages: 1 },
    },
    { description: 'A page of the log.' },
  ),
};

const show: OperationDocs = {
  id: 'getNotification',
  area,
  summary: 'One notification',
  params,
  answer: one,
  refusals: { NOT_FOUND: noSuch },
};

const attempts: OperationDocs = {
  id: 'listAttempts',
  area,
  summary: 'Every attempt to deliver one',
  params,
  answer: answers(
    z.object({ notification, attempts: z.array(attempt), reports: z.array(report) }),
    {
      notification: { ...examples.notification, attemptCount: 2 },
      attempts: [examples.failedAttempt, { ...examples.attempt, attemptNumber: 2 }],
      reports: [examples.report],
    },
    {
      description: `The attempts that have ended, in ascending order: the first one and the newest ${attemptsKeptMax}. \`attemptCount\` counts all. Then what the provider has reported since, by time: of each kind the first report and the last.`,
    },
  ),
  refusals: { NOT_FOUND: noSuch },
};

const retry: OperationDocs = {
  id: 'retryNotification',
  area,
  summary: 'Send a FAILED notification again',
  description: `At most ${roundsMax - 1} times; then 409 CONFLICT. A webhook’s \`webhook-id\` is \`notif_x.2\` then, \`notif_x.3\` after the next one: receivers that have seen the former take it again.`,
  params,
  answer: answers(
    message,
    { message: 'The notification is being sent again.' },
    { status: 202, description: 'It is QUEUED again, or SCHEDULED where its `sendAt` is ahead.', position: 'always' },
  ),
  refusals: {
    NOT_FOUND: noSuch,
    CONFLICT: 'Only a FAILED notification can be sent again; this one is DELIVERED.',
  },
};

const resend: OperationDocs = {
  id: 'resendNotification',
  area,
  summary: 'Send the content of a notification once more, whatever became of it',
  description:
    'A new notification, which names this one as `resendOf`: the same texts as they were rendered then, to the same recipient, at once. What was to expire is worth as long as it was. ' +
    'With an `Idempotency-Key` it may be repeated until it is answered, as `POST /notify`.',
  params,
  isKeyed: true,
  answer: answers(
    accepted,
    { notificationId: examples.notificationId, notification_id: examples.notificationId, status: 'queued' },
    { status: 202, description: 'The new one is accepted: durable from now on.', position: 'always', isPlaced: true },
  ),
  refusals: {
    NOT_FOUND: noSuch,
    CONFLICT: 'This notification was too large to be kept whole: send a new one instead.',
    IDEMPOTENCY_KEY_REUSED:
      'This Idempotency-Key was used for another request within 24 h: repeat that request as it was, or send this one with another key.',
    NO_PROVIDER_CONFIGURED: 'No enabled provider is configured for EMAIL: save one with POST /api/v1/providers.',
    SERVICE_UNAVAILABLE: 'Nothing was accepted: the event log takes nothing at the moment. Send the request again.',
  },
  leadsTo: { getNotification: { id: 'notificationId' }, listAttempts: { id: 'notificationId' } },
};

const cancel: OperationDocs = {
  id: 'cancelNotification',
  area,
  summary: 'Stop a SCHEDULED or RETRYING notification',
  description: '503 when it is not decided within 2 s.',
  params,
  answer: answers(
    z.object({ notification }),
    {
      notification: {
        ...examples.notification,
        status: 'CANCELLED',
        provider: null,
        attemptCount: 0,
        attempts: [],
        scheduledAt: '2027-02-01T09:00:00.000Z',
        deliveredAt: null,
      },
    },
    { description: 'It is CANCELLED.', position: 'always' },
  ),
  refusals: {
    NOT_FOUND: noSuch,
    CONFLICT: 'Only a SCHEDULED or RETRYING notification can be cancelled; this one is DELIVERED.',
    SERVICE_UNAVAILABLE: 'The cancel is not decided yet. Look at the notification, or ask again.',
  },
};

export const logDocs = { showByKey, list, show, attempts, retry, resend, cancel };
