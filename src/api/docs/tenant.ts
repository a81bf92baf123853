// Tenant and main API key, documented.

import { z } from 'zod';

import { formerKeysMax } from '../../domain/tenant.ts';
import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { errorCodes } from '../errors.ts';
import { refusalsMax } from '../refusals.ts';
import { nextCursor, text, timestamp } from './shapes.ts';

const area = 'Tenant';
const wholeKey = text.describe('The API key, whole.');
const owner = { id: text, name: text, email: text.nullable(), apiKey: wholeKey, createdAt: timestamp };

const example = {
  id: examples.tenantId,
  name: 'Acme',
  email: 'owner@acme.example',
  apiKey: examples.apiKey,
  createdAt: examples.createdAt,
};

const provision: OperationDocs = {
  id: 'provisionTenant',
  area,
  summary: 'Create the tenant of this token',
  description: 'With its API key, if there is none; the same answer again for one that exists.',
  answer: answers(
    z.object({ tenantId: text, apiKey: text.describe('Masked.'), tenant: z.object(owner) }),
    { tenantId: examples.tenantId, apiKey: 'nk_••••••vKqP', tenant: example },
    { description: 'The tenant, new or as it was.' },
  ),
};

const show: OperationDocs = {
  id: 'getTenant',
  area,
  summary: 'The tenant, its API key and limits',
  answer: answers(
    z
      .object({
        ...owner,
        limits: z
          .object({ requests: z.int().min(1), windowSeconds: z.number() })
          .describe('`requests` that send (`/notify`, retries, tests of providers) in `windowSeconds`.'),
        webhookSecret: text.describe('Signs webhooks, unless the tenant has a provider for WEBHOOK that is enabled.'),
      })
      .meta({ id: 'Tenant' }),
    {
      ...example,
      limits: { requests: 100, windowSeconds: 10 },
      webhookSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    },
    { description: 'The tenant.' },
  ),
};

const regenerateKey: OperationDocs = {
  id: 'regenerateKey',
  area,
  summary: 'Replace the API key',
  description: `The old key gets 401 from then on, on every node within 5 s; \`graceSeconds\` keeps it for up to 7 days. At most ${formerKeysMax} former keys are kept at once: one more is refused, while a call without \`graceSeconds\` ends them all.`,
  requests: { 'The old key for another hour': { graceSeconds: 3600 } },
  answer: answers(z.object({ apiKey: wholeKey }), { apiKey: examples.apiKey }, { description: 'The new key.' }),
  refusals: {
    CONFLICT: `${formerKeysMax} former keys hold still, and there can be no more: leave graceSeconds out, which ends them all, or wait until one ends.`,
  },
};

const refusal = z
  .object({
    at: timestamp,
    route: text.describe('Method and pattern of the address, without ids.'),
    status: z.int().min(400).max(599),
    code: z.enum(errorCodes),
    fields: z.array(text).describe('Paths of what was wrong; no values.'),
    requestId: text,
  })
  .meta({ id: 'Refusal', description: 'A request that was refused.' });

const refusals: OperationDocs = {
  id: 'listRefusals',
  area,
  summary: 'What was refused lately',
  description: `The last ${refusalsMax} requests of the tenant that were refused, newest first; those that only read aren’t kept. Each process keeps its own, in memory: where there are several, or after a start, ask the log for \`code\` and \`fields\` of the line \`request\`.`,
  answer: answers(
    z.object({ data: z.array(refusal), nextCursor: nextCursor.describe('null: there is never more.') }),
    {
      data: [
        {
          at: examples.createdAt,
          route: 'POST /notify',
          status: 400,
          code: 'BAD_REQUEST' as const,
          fields: ['recipient'],
          requestId: examples.requestId,
        },
      ],
      nextCursor: null,
    },
    { description: 'The refusals.' },
  ),
};

export const tenantDocs = { provision, show, regenerateKey, refusals };
