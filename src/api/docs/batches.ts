// Batches, documented.

import { z } from 'zod';

import { statuses } from '../../domain/notification.ts';
import { errorCodes } from '../errors.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { batchId as exampleId, batchParam } from './params.ts';
import { count, notificationId, text, timestamp } from './shapes.ts';

const area = 'Sending';
const batchId = text.meta({ pattern: '^batch_[0-9a-z]{26}$' });
const item = { channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'Your order has left the house' };

const create: OperationDocs = {
  id: 'notifyBatch',
  area,
  summary: 'Send up to 10,000 notifications',
  description:
    'As a JSON object, or as NDJSON (`content-type: application/x-ndjson`, a notification a line), which generators of clients don’t know; 32 MiB at most, read as it comes. Each item is what `POST /notify` takes, and is checked by itself: one that is refused harms no other, and its result says why. ' +
    'An item may carry an `idempotencyKey`; then the batch may be repeated until it is answered: where all that it has accepted belongs to one batch already, the answer has that one’s `batchId`. A batch counts as one request, and its items against a limit of their own; new keys have one too, and one too many is refused by itself. Each item keeps the trace of the request, and its `baggage` up to 512 bytes. ' +
    'Where reading stops before the end (too many items, the limit of items, a list that breaks off, the log away or too slow), the last result says so, and what was accepted before it stays accepted; if nothing was, the answer is that refusal.',
  requests: {
    'Two notifications': { notifications: [item, { ...item, recipient: 'bob', idempotencyKey: 'order-18' }] },
  },
  answer: answers(
    z
      .object({
        batchId,
        accepted: count,
        rejected: count,
        results: z.array(
          z
            .object({
              index: count.describe('Of the item, from 0; empty lines don’t count (10,000 at most).'),
              notificationId: notificationId.optional(),
              status: z.literal('queued').optional(),
              batchId: batchId
                .nullable()
                .optional()
                .describe(
                  'Of what its `idempotencyKey` had made before: the batch that it belongs to; null: none, or it isn’t known.',
                ),
              code: z.enum(errorCodes).optional().describe('Why it was refused; there is no notification then.'),
              error: text.optional(),
              details: z.array(z.object({ path: text, message: text })).optional(),
            })
            .meta({ id: 'BatchResult', description: 'What became of one item: a notification, or a refusal.' }),
        ),
      })
      .meta({ id: 'BatchAccepted', description: 'What became of each item, in their order.' }),
    {
      batchId: exampleId,
      accepted: 1,
      rejected: 1,
      results: [
        { index: 0, notificationId: examples.notificationId, status: 'queued' },
        {
          index: 1,
          code: 'BAD_REQUEST',
          error: 'recipient: is required',
          details: [{ path: 'recipient', message: 'is required' }],
        },
      ],
    },
    {
      status: 202,
      description: 'Read to its end, or to where a result says: what is accepted is durable.',
      position: 'sometimes',
      isPlaced: true,
    },
  ),
  refusals: {
    UNSUPPORTED_MEDIA_TYPE: 'Send the body as content-type: application/json or application/x-ndjson in UTF-8.',
    PAYLOAD_TOO_LARGE: 'A batch holds at most 32 MiB.',
    BAD_REQUEST: 'notifications: must have at least one item',
    SERVICE_UNAVAILABLE: 'Nothing was accepted: the event log takes nothing at the moment. Send the request again.',
  },
  leadsTo: { getBatch: { id: 'batchId' }, cancelBatch: { id: 'batchId' }, retryBatch: { id: 'batchId' } },
};

const show: OperationDocs = {
  id: 'getBatch',
  area,
  summary: 'What became of a batch',
  description:
    'The records of its notifications carry `batchId`, and `GET /notifications?batchId=` lists them. An item whose `idempotencyKey` had made its notification before is accepted, and belongs to what made it: it is counted, cancelled and sent again with that batch, whose `batchId` its result has.',
  params: { id: batchParam },
  answer: answers(
    z
      .object({
        batchId,
        accepted: count,
        rejected: count,
        createdAt: timestamp,
        statusCounts: z.object(Object.fromEntries(statuses.map((status) => [status, count]))),
      })
      .meta({ id: 'Batch', description: 'A batch, and how many of its notifications have which status.' }),
    {
      batchId: exampleId,
      accepted: 2,
      rejected: 0,
      createdAt: '2026-11-22T09:00:00.000Z',
      statusCounts: { ...Object.fromEntries(statuses.map((status) => [status, 0])), DELIVERED: 2 },
    },
    { description: 'The batch.' },
  ),
  refusals: { NOT_FOUND: 'There is no such batch.' },
};

export const batchDocs = { create, show };
