// The dashboard's figures and live changes, documented.

import { z } from 'zod';

import { channels, failureClasses, priorities, reportKinds } from '../../domain/events.ts';
import { statuses } from '../../domain/notification.ts';
import { causesMax } from '../../projections/notifications/failures.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { channel, count, notificationId, text, timestamp } from './shapes.ts';

const area = 'Statistics';
const percent = z.int().min(0).max(100);
const milliseconds = z.number().min(0).nullable();

const statistics = z
  .object({
    total: count,
    statusCounts: countsOf(statuses),
    channelCounts: countsOf(channels),
    priorityCounts: countsOf(priorities),
    successRate: percent.describe('Percent of DELIVERED + FAILED; 100 when there are none.'),
    failedRate: percent.describe('100 - successRate.'),
    latency: z
      .object({ p50: milliseconds, p95: milliseconds, p99: milliseconds })
      .describe('Milliseconds from request to delivery; null when nothing was delivered.'),
    reported: countsOf(reportKinds).describe(
      'Notifications of which a provider has reported that, by the time of the first report of its kind. One that is reported on after its retention has ended counts once more.',
    ),
    series: z.array(z.object({ at: timestamp, requested: count, delivered: count, failed: count })),
  })
  .meta({ id: 'Statistics' });

const stats: OperationDocs = {
  id: 'getStatistics',
  area,
  summary: 'Counts, rates, latencies and their course',
  description:
    'Either `range` (today by default: the UTC day) or `from` and `to`, which widen to whole minutes; `channel`, `priority` and `provider` narrow all of it. The series has a point for each minute, hour or day of the range (`by`; of more than 1,000 points only those with notifications). Everything is counted by the time of the request: what was asked for on Monday and fails on Tuesday is in Monday’s `failed`. Live counts join at `x-stream-position`.',
  answer: answers(
    statistics,
    {
      total: 3,
      statusCounts: {
        QUEUED: 0,
        SCHEDULED: 0,
        PROCESSING: 0,
        RETRYING: 1,
        DELIVERED: 1,
        FAILED: 1,
        CANCELLED: 0,
      },
      channelCounts: { EMAIL: 2, SMS: 1, WEBHOOK: 0, IN_APP: 0 },
      priorityCounts: { HIGH: 1, DEFAULT: 2, BULK: 0 },
      successRate: 50,
      failedRate: 50,
      latency: { p50: 420, p95: 420, p99: 420 },
      reported: { delivered: 1, bounced: 0, complained: 0, opened: 1, clicked: 0 },
      series: [{ at: examples.createdAt, requested: 3, delivered: 1, failed: 1 }],
    },
    { description: 'The figures of the range.', isJoined: true },
  ),
};

const failures: OperationDocs = {
  id: 'getFailures',
  area,
  summary: 'What failed, and of what',
  description: `The notifications that are FAILED, at the time of the failure that ended them; without \`from\` and \`to\` those of the last 7 days. One that was sent again isn’t counted any more, and if it fails again it is counted then. \`from\` and \`to\` widen to whole minutes. The list finds them by \`failedFrom\`, \`failedTo\`, \`provider\`, \`errorClass\` and \`errorCode\`, and \`POST /notifications/retry\` sends them again by the same.`,
  answer: answers(
    z
      .object({
        total: count,
        causes: z
          .array(
            z
              .object({
                class: z.enum(failureClasses),
                provider: text,
                code: text.nullable().describe('The receiver’s own, its first 50 characters; null: it gave none.'),
                count,
                firstAt: timestamp.describe('Of the range.'),
                lastAt: timestamp,
                examples: z.array(notificationId).describe('The newest, 3 at most.'),
              })
              .meta({ id: 'FailureCause' }),
          )
          .describe(`The most frequent first, ${causesMax} at most; \`total\` counts all.`),
        series: z.array(z.object({ at: timestamp, count })),
      })
      .meta({ id: 'Failures' }),
    {
      total: 2,
      causes: [
        {
          class: 'recipient',
          provider: 'smtp',
          code: '550',
          count: 2,
          firstAt: examples.createdAt,
          lastAt: examples.updatedAt,
          examples: [examples.notificationId],
        },
      ],
      series: [{ at: examples.createdAt, count: 2 }],
    },
    { description: 'The failures of the range.' },
  ),
};

const stream: OperationDocs = {
  id: 'streamChanges',
  area,
  summary: 'Every change of a status as it comes',
  description:
    'Server-sent events without an event name; a comment every 15 s. Without `Last-Event-ID` from now on, with it without gap or repeat. `?token=` is accepted here alone, since EventSource sends no header. Ends when the token does: EventSource then gets 401 and gives up; open a new one with a new token, and read the log once for what changed meanwhile, or go on by `Last-Event-ID` with a client that can send a header.',
  answer: {
    kind: 'stream',
    description: 'A stream of server-sent events: first that it is open, then the changes.',
    messages: [
      {
        event: null,
        id: '3.0.1k.0.0',
        data: z
          .object({
            event: z.literal('connected'),
            tenantId: text,
            gap: z
              .literal(true)
              .optional()
              .describe('What came after `Last-Event-ID` can’t be told any more: read the log anew.'),
          })
          .meta({ id: 'StreamOpened', description: 'Changes are told from now on.' }),
        example: { event: 'connected', tenantId: examples.tenantId },
      },
      {
        event: null,
        id: '3.0.1l.0.0',
        data: z
          .object({
            notificationId,
            status: z.enum(statuses),
            channel,
            recipient: text,
            error: text.nullable(),
            timestamp,
          })
          .meta({ id: 'StatusChanged' }),
        example: {
          notificationId: examples.notificationId,
          status: 'DELIVERED',
          channel: 'EMAIL',
          recipient: 'ada@example.com',
          error: null,
          timestamp: examples.updatedAt,
        },
      },
    ],
  },
  refusals: { TOO_MANY_REQUESTS: 'A tenant has at most 200 open streams.' },
};

export const statisticsDocs = { stats, failures, stream };

function countsOf<K extends string>(keys: readonly K[]) {
  return z.object(Object.fromEntries(keys.map((key) => [key, count])) as Record<K, typeof count>);
}
