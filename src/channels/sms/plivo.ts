// SMS `plivo`: POST /v1/Account/{auth id}/Message/.
// https://docs.plivo.com/docs/messaging/api/message/send-a-message, https://docs.plivo.com/docs/messaging/api/response
//
// There is no idempotency key and no field for an id of ours: a repeat after an answer that never came may be a second message.
// Errors are a status and a sentence whose wording is not documented: a 400 is read by the parameter that it names, or by what clients have
// reported ("'1111111' is not a valid phone number.", https://github.com/plivo/plivo-node/issues/222). No header of a 429 is documented.

import { z } from 'zod';

import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { basicLogin, faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { isNumberOrName, withoutPlus } from './sender.ts';

const powerpack = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const plivoConfig = providerConfig({
  authId: z
    .string()
    .regex(/^[A-Z0-9]{6,40}$/, 'must be an auth id, capital letters and digits')
    .meta({ title: 'Auth ID', description: 'The auth id of the account (MA...); the auth token goes into apiKey.' }),
  from: z
    .string()
    .refine(
      (from) => powerpack.test(from) || isNumberOrName(from),
      'must be a phone number with +, a short code, a sender id of up to 11 characters, or the id of a powerpack',
    )
    .meta({
      title: 'Sender',
      description: 'The sending number (+4930...), a sender id such as ACME, or the UUID of a powerpack.',
    }),
});

export function plivo(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'SMS',
      name: 'plivo',
      label: 'Plivo',
      config: plivoConfig,
      apiKey: headerKey.meta({ title: 'Auth token', description: 'The auth token of the account.' }),

      call({ delivery, config, apiKey }, baseUrl = 'https://api.plivo.com') {
        const { authId, from } = config;
        const sender = powerpack.test(from) ? { powerpack_uuid: from } : { src: withoutPlus(from) };
        return {
          url: `${baseUrl}/v1/Account/${authId}/Message/`,
          headers: { authorization: basicLogin(authId, apiKey), 'content-type': 'application/json' },
          body: JSON.stringify({ ...sender, dst: withoutPlus(delivery.recipient), text: delivery.request.body }),
        };
      },

      read,
    },
    dependencies,
  );
}

const success = z.object({ message_uuid: z.array(z.string().min(1)).min(1) });
const failure = z.object({ error: z.string() });

function read(answer: Answer): Verdict {
  const { status, body, json } = answer;
  if (isSuccess(answer)) {
    const [messageId] = success.safeParse(json).data?.message_uuid ?? [];
    return messageId === undefined ? { kind: 'malformed' } : { kind: 'taken', messageId };
  }
  // A 401 is plain text.
  const message = failure.safeParse(json).data?.error ?? body;
  return { kind: 'refused', fault: faultOf(status, message), code: String(status), message };
}

/** 404: the auth id is part of the address. A number that is not valid without a word of whose is the recipient's: the sender's is checked when it is saved. */
function faultOf(status: number, message: string): Fault {
  if (status === 404) return 'credentials';
  if (status !== 400) return faultOfStatus(status);
  if (/\bdst\b|destination|recipient/i.test(message)) return 'recipient';
  if (/\bsrc\b|source|sender|powerpack/i.test(message)) return 'credentials';
  return /not a valid phone number/i.test(message) ? 'recipient' : 'content';
}
