// What providers call, documented for whoever sets one up.

import { z } from 'zod';

import type { OperationDocs } from './operation.ts';
import { answers } from './operation.ts';
import { count } from './shapes.ts';

const receive: OperationDocs = {
  id: 'receiveCallback',
  area: 'Providers',
  summary: 'What a provider reports of the messages that it has taken',
  description:
    'For the provider to call: its address is the `callbackUrl` of `GET /providers`. The body is the provider’s own, verified by its own signature (Postmark signs nothing: there the address alone is what nobody knows): 1 MiB of SendGrid, 256 KiB of Amazon SES and Postmark, 64 KiB of the others at most. ' +
    'Told again, late or out of order it changes nothing; a status never follows from it. A permanent bounce or a complaint puts the recipient on the suppression list.',
  params: {
    provider: { description: 'The provider’s name.', example: 'sendgrid', schema: { type: 'string' } },
    token: {
      description: 'Names the tenant; part of the address.',
      example: 'dG50XzAxaHp4.3q2-7wAAAAAAAAAAAAAAAA',
      schema: { type: 'string' },
    },
  },
  answer: answers(
    z
      .object({
        reports: count.describe('Of this service’s messages.'),
        suppressed: count.describe('Recipients that nothing is sent to any more.'),
        foreign: count.describe('Of messages that something else has sent by the same account.'),
        other: count.describe('Of kinds that nothing is kept of.'),
      })
      .meta({ id: 'CallbackTaken', description: 'What a provider has reported.' }),
    { reports: 1, suppressed: 0, foreign: 0, other: 0 },
    { description: 'All of it is durable.' },
  ),
  refusals: {
    UNAUTHORIZED: 'The signature is not one by the secret that is saved as callbackSecret.',
    NOT_FOUND: 'There is no such address of callbacks.',
    BAD_REQUEST: 'The body is not what this provider is known to send.',
    TOO_MANY_REQUESTS: 'The limit of requests is reached. Try again in 10 s.',
    PAYLOAD_TOO_LARGE: 'A request holds at most 64 KiB.',
    SERVICE_UNAVAILABLE: 'The reports are not all durable: the event log takes nothing at the moment. Send them again.',
  },
};

export const callbackDocs = { receive };
