// A tenant's providers, documented.

import { z } from 'zod';

import * as examples from './examples.ts';
import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { channelParam } from './params.ts';
import { channelProviders, message, provider, text } from './shapes.ts';

const area = 'Providers';

const list: OperationDocs = {
  id: 'listProviders',
  area,
  summary: 'The tenant’s providers',
  answer: answers(z.array(provider), [examples.provider], { description: 'One for each channel and role at most.' }),
};

const catalog: OperationDocs = {
  id: 'getProviderCatalog',
  area,
  summary: 'Which providers there are',
  description: 'The same for every tenant: a form can be drawn from it.',
  answer: answers(
    z.array(channelProviders),
    [
      {
        channel: 'EMAIL',
        required: true,
        providers: [
          {
            name: 'resend',
            label: 'Resend',
            help: null,
            fields: [
              {
                name: 'apiKey',
                path: 'apiKey',
                label: 'API key',
                type: 'secret',
                required: true,
                default: null,
                choices: null,
                min: null,
                max: null,
                help: 'A key that may send.',
              },
            ],
          },
        ],
      },
    ],
    { description: 'The channels in their usual order.' },
  ),
};

const save: OperationDocs = {
  id: 'saveProvider',
  area,
  summary: 'Save or update the provider of a channel',
  description:
    'An `apiKey` with bullets keeps the stored one. WEBHOOK’s provider is `custom`: its `apiKey` is a signing secret of the tenant’s own, in the place of `whsec_...` while it is enabled. Whenever another one signs from now on (it is saved, changed, disabled, enabled or deleted), the one so far signs as well for 24 h, and so does what did already, to its own end (four at most, of more those that signed longest in these 24 h). ' +
    'EMAIL and SMS may have a second one, `"role":"fallback"`: it takes over while the first one isn’t called (after three failures in a row, or when its credentials are refused), and the first takes it back.',
  requests: {
    Resend: {
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: 're_8mQk2Vt5x9Qz',
      config: { fromName: 'Acme', fromEmail: 'hello@acme.example' },
      enabled: true,
    },
    Twilio: {
      channel: 'SMS',
      provider: 'twilio',
      apiKey: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
      config: { accountSid: 'AC0f1e2d3c4b5a69788796a5b4c3d2e1f0', from: '+15005550006' },
    },
    'A fallback': {
      channel: 'EMAIL',
      role: 'fallback',
      provider: 'postmark',
      apiKey: '1f2e3d4c-5b6a-4798-8a7b-6c5d4e3f2a1b',
      config: { fromName: 'Acme', fromEmail: 'hello@acme.example' },
    },
    'A signing secret': {
      channel: 'WEBHOOK',
      provider: 'custom',
      apiKey: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
      config: {},
    },
  },
  answer: answers(provider, examples.provider, { description: 'As it is stored now, its key masked.' }),
};

const test: OperationDocs = {
  id: 'testProvider',
  area,
  summary: 'Send one test message directly',
  description: 'EMAIL to the tenant’s own address; SMS and WEBHOOK to `recipient`. Not written to the log.',
  params: { channel: channelParam },
  requests: { 'To a phone': { recipient: '+4915112345678' } },
  answer: answers(
    z
      .union([z.object({ success: z.literal(true) }), z.object({ success: z.literal(false), error: text })])
      .meta({ id: 'ProviderTest', description: 'What keeps a test from succeeding is told here, not by a status.' }),
    { success: false, error: 'No enabled provider is configured for SMS.' },
    { description: 'Whether it was sent.' },
  ),
};

const remove: OperationDocs = {
  id: 'deleteProvider',
  area,
  summary: 'Delete the provider of a channel',
  description:
    'WEBHOOK is signed by the tenant’s own secret then, and as well for 24 h by the deleted one, to their own ends by those before it.',
  params: { channel: channelParam },
  answer: answers(message, { message: 'The provider for EMAIL is deleted.' }),
  refusals: { NOT_FOUND: 'There is no such provider: none is saved for EMAIL.' },
};

export const providerDocs = { list, catalog, save, test, remove };
