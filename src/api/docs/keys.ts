// Further API keys with scopes, documented.

import { z } from 'zod';

import { namedKeysMax, scopes } from '../../domain/tenant.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { message, text, timestamp } from './shapes.ts';

const area = 'Tenant';

const key = z
  .object({
    id: text,
    name: text,
    scopes: z
      .array(z.enum(scopes))
      .describe(
        '`notify`: send, and see what was sent; `inbox`: serve the in-app inbox; `read`: what the dashboard reads.',
      ),
    prefix: text.describe('Its first characters, so that it is recognised.'),
    createdAt: timestamp,
    lastUsedAt: timestamp.nullable(),
  })
  .meta({ id: 'Key', description: 'A named API key; what it may do is in its scopes.' });

const example = {
  id: 'key_01m74vty40evz9fqdce4cwe7hp',
  name: 'checkout',
  scopes: ['notify' as const],
  prefix: 'nk_7Yh2Q',
  createdAt: examples.createdAt,
  lastUsedAt: null,
};

const list: OperationDocs = {
  id: 'listKeys',
  area,
  summary: 'Further API keys of the tenant',
  description: 'Without the main one, which `GET /tenant` shows.',
  answer: answers(z.array(key), [example], { description: 'The keys.' }),
};

const create: OperationDocs = {
  id: 'createKey',
  area,
  summary: 'Create a named API key',
  requests: { 'A key that only sends': { name: 'checkout', scopes: ['notify'] } },
  answer: answers(
    key.extend({ key: text.describe('Whole, this once.') }).meta({ id: 'CreatedKey' }),
    { ...example, key: examples.apiKey },
    { status: 201, description: 'The key; it is not shown again.' },
  ),
  refusals: { CONFLICT: `A tenant has at most ${namedKeysMax} further keys: delete one first.` },
};

const remove: OperationDocs = {
  id: 'deleteKey',
  area,
  summary: 'Delete a named API key',
  description: 'It gets 401 from then on, on every node within 5 s.',
  params: { id: { description: 'The key’s id.', example: example.id, schema: { type: 'string' } } },
  answer: answers(message, { message: 'The key is deleted.' }),
  refusals: { NOT_FOUND: 'There is no such key.' },
};

export const keyDocs = { list, create, remove };
