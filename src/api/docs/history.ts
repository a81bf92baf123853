// The history of a tenant and its downloads, documented.

import { z } from 'zod';

import {
  deferralReasons,
  failureClasses,
  priorities,
  providerRoles,
  reportKinds,
  settingsSubjects,
  suppressionReasons,
} from '../../domain/events.ts';
import { historyTypes } from '../../history/tenant-slots.ts';
import { ownDownloadsFull } from '../downloads.ts';
import { csvColumns, csvHead } from '../notification-csv.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { metadataQuery } from './params.ts';
import { channel, count, nextCursor, notificationId, text, timestamp } from './shapes.ts';

const area = 'Log';
const attemptNumber = z.int().min(1);

const request = z
  .object({
    subject: text.nullable(),
    body: text.describe('As rendered.'),
    bodyFormat: z.enum(['text', 'html']),
    rawSubject: text.nullable().describe('The request’s own, where no template was used and it differs.'),
    rawBody: text.nullable().describe('The same of the body.'),
    data: z.record(text, z.unknown()),
    metadata: z.record(text, text),
    template: z.object({ id: text, name: text, version: z.int().min(1) }).nullable(),
    sendAt: timestamp.nullable(),
    batchId: text.nullable(),
    expiresAt: timestamp.nullable(),
    replyTo: text.nullable(),
    cc: z.array(text),
    bcc: z.array(text),
    transactional: z.boolean(),
  })
  .describe('Of NotificationRequested: what was asked for.');

const event = z
  .object({
    type: z.enum(historyTypes),
    eventId: text.describe('The same for an event that was appended again.'),
    occurredAt: timestamp,
    appendedAt: timestamp.describe('When the log took it.'),
    position: text.describe('Its place in the log, as `x-event-position` says it.'),
    notificationId: notificationId.nullable().describe('null: it is of no notification.'),
    traceparent: text.nullable().describe('W3C trace context of the request that began it.'),
    channel: channel.optional(),
    recipient: text.nullable().optional(),
    priority: z.enum(priorities).optional(),
    requestedAt: timestamp.optional(),
    round: attemptNumber.optional().describe('1 for the request, one more for each retry by hand.'),
    causeId: text.optional().describe('The event that it answers.'),
    attempt: attemptNumber.optional(),
    provider: text.optional(),
    role: z.enum(providerRoles).optional(),
    messageId: text.nullable().optional().describe('The provider’s own id of the message.'),
    errorClass: z.enum(failureClasses).optional(),
    errorCode: text.nullable().optional(),
    error: text.optional().describe('What the receiver said, at most 1 KiB, secrets cut out.'),
    waitedMs: count.optional(),
    tookMs: count.optional(),
    nextRetryAt: timestamp.nullable().optional(),
    dueAt: timestamp.optional(),
    resendOf: notificationId.nullable().optional(),
    request: request.optional(),
    report: z.enum(reportKinds).optional(),
    reportedAt: timestamp.optional(),
    permanent: z.boolean().optional(),
    reason: z
      .union([z.enum([...deferralReasons, ...suppressionReasons]), text])
      .nullable()
      .optional()
      .describe('Why it was deferred or suppressed; of a report the provider’s words.'),
    notificationIds: z.array(notificationId).optional().describe('Of InboxRead.'),
    batchId: text.optional(),
    accepted: count.optional(),
    rejected: count.optional(),
    subject: z.enum(settingsSubjects).optional().describe('Of SettingsChanged: what was changed.'),
    subjectId: text.optional(),
    action: z.enum(['created', 'updated', 'deleted', 'regenerated']).optional(),
    actor: text.nullable().optional().describe('The `sub` of the token that did it; null: nobody’s doing.'),
  })
  .meta({
    id: 'HistoryEvent',
    description: 'One event of the log; which fields it has beyond the first seven follows from its type.',
  });

const endCursor = text.describe('The place behind the last event told, also at the end: for what comes later.');
const hasGap = z
  .boolean()
  .describe(
    'true: what stood behind the cursor is deleted, its beginning at least, or the log was put back from an earlier time and ended before it; it goes on with what there is, or from that end.',
  );

const requested = {
  type: 'NotificationRequested' as const,
  eventId: '0f2c1c84a6b14c6c9a3d1f2e5b7a9c01',
  occurredAt: examples.createdAt,
  appendedAt: examples.createdAt,
  position: examples.position,
  notificationId: examples.notificationId,
  traceparent: null,
  channel: 'EMAIL' as const,
  recipient: 'ada@example.com',
  priority: 'DEFAULT' as const,
  requestedAt: examples.createdAt,
  round: 1,
  resendOf: null,
  request: {
    subject: 'Hello Ada',
    body: 'Welcome Ada',
    bodyFormat: 'text' as const,
    rawSubject: null,
    rawBody: null,
    data: { name: 'Ada' },
    metadata: {},
    template: null,
    sendAt: null,
    batchId: null,
    expiresAt: null,
    replyTo: null,
    cc: [],
    bcc: [],
    transactional: false,
  },
};

const end = { nextCursor: null, endCursor: 'WzAsMCwxMDI4XQ.pX2rT0sJb1yq8QmZ', hasGap: false };

const list: OperationDocs = {
  id: 'listEvents',
  area,
  summary: 'The history: every event, in the order of the log',
  description:
    'As JSON a page, 100 events unless `limit` says else, 1 MiB at most; one that would look through too much ends short, also without an event, and its `nextCursor` goes on. ' +
    'With `accept: application/x-ndjson` one event a line, as fast as they are read, up to 100,000; the last line is `{"nextCursor","endCursor","hasGap"}`: an answer without it was cut. ' +
    'The content stands in NotificationRequested alone. Nothing that is secret is in an event; dead letters and what doesn’t decode are the operator’s. ' +
    'What was asked for up to an `endCursor` isn’t told again behind it, so a nightly load has no gap and no repeat.',
  answer: answers(
    z.object({ data: z.array(event), nextCursor, endCursor, hasGap }),
    { data: [requested], ...end },
    {
      description: 'A page, or lines.',
      lines: {
        type: 'application/x-ndjson',
        example: `${JSON.stringify(requested)}\n${JSON.stringify(end)}\n`,
      },
    },
  ),
  refusals: { BAD_REQUEST: 'cursor: must be a nextCursor of this list', TOO_MANY_REQUESTS: ownDownloadsFull },
};

const csv: OperationDocs = {
  id: 'downloadNotifications',
  area,
  summary: 'The log as CSV, for a spreadsheet',
  description:
    `The filters of the list, newest first, RFC 4180. Columns: ${csvColumns.map(({ name, about }) => `\`${name}\` (${about})`).join(', ')}. ` +
    'Times are ISO 8601 in UTC, what there is not is empty. A text that begins with `=`, `+`, `-`, `@`, a tab or a line end has an apostrophe before it, so that no spreadsheet takes it for a formula: phone numbers too. ' +
    'Bodies and `data` stay with the record. It ends within five minutes and 1,048,575 rows, what a spreadsheet opens; a longer one is cut, which clients tell as an incomplete transfer: ask for less by `from` and `to`.',
  freeQuery: metadataQuery,
  answer: {
    kind: 'text',
    type: 'text/csv',
    description: 'The rows.',
    example: csvHead,
  },
  refusals: { TOO_MANY_REQUESTS: ownDownloadsFull },
};

export const historyDocs = { list, csv };
