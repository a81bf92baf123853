// The suppression list, documented.

import { z } from 'zod';

import { suppressionReasons } from '../../domain/events.ts';
import { suppressionsMax } from '../../domain/suppression.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { channel, message, nextCursor, text, timestamp } from './shapes.ts';

const area = 'Suppressions';

const suppression = z
  .object({
    id: text.meta({ pattern: '^sup_[0-9a-f]{32}$' }),
    channel,
    recipient: text.describe('An email address in lower case, its domain in ASCII.'),
    reason: z.enum(suppressionReasons),
    createdAt: timestamp,
  })
  .meta({ id: 'Suppression', description: 'A recipient that nothing is sent to but what is `transactional`.' });

const example = {
  id: 'sup_6f1c2d3e4a5b8c6d9e7f0a1b2c3d4e5f',
  channel: 'EMAIL' as const,
  recipient: 'ada@example.com',
  reason: 'manual' as const,
  createdAt: examples.createdAt,
};

const list: OperationDocs = {
  id: 'listSuppressions',
  area,
  summary: 'Recipients that nothing is sent to, the newest first',
  answer: answers(
    z.object({ data: z.array(suppression), nextCursor }).meta({ id: 'Suppressions' }),
    { data: [example], nextCursor: null },
    { description: 'A page of them.' },
  ),
};

const create: OperationDocs = {
  id: 'createSuppression',
  area,
  summary: 'Send nothing to a recipient any more',
  description: `What is to be sent to it ends FAILED, class \`recipient\`, code \`SUPPRESSED\`, without an attempt, unless it is \`transactional\`; as a copy of a mail it is left out. Of email addresses upper and lower case are the same. A tenant has at most ${suppressionsMax} entries.`,
  requests: { 'An address': { channel: 'EMAIL', recipient: 'ada@example.com' } },
  answer: answers(suppression, example, {
    status: 201,
    description: 'The entry.',
    also: { status: 200, description: 'It was on the list already: the entry that it has.' },
  }),
  refusals: {
    CONFLICT: `A tenant's suppression list has at most ${suppressionsMax} entries.`,
    SERVICE_UNAVAILABLE:
      'The change was not accepted: the event log takes nothing at the moment. Send the request again.',
  },
};

const remove: OperationDocs = {
  id: 'deleteSuppression',
  area,
  summary: 'Send to a recipient again',
  description:
    'Every process does within a second. What has failed meanwhile stays FAILED, until it is sent again by hand.',
  params: { id: { description: 'The entry’s id.', example: example.id, schema: { type: 'string' } } },
  answer: answers(message, { message: 'The recipient is off the suppression list.' }),
  refusals: { NOT_FOUND: 'There is no such suppression.' },
};

export const suppressionDocs = { list, create, remove };
