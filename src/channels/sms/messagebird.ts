// SMS `messagebird`: the API of Bird, which MessageBird became: POST /v1/sms/messages on the host of the key's region.
// https://bird.com/en-us/docs/api (regions, authentication), .../docs/api/errors, .../docs/guides/errors, .../docs/api/idempotency; request fields as
// in Bird's own SDKs (https://github.com/messagebird/bird-sdk-go, sms.go). The older rest.messagebird.com ends with 2026 and takes other keys:
// https://bird.com/en-us/migrate/from-messagebird-classic (that page names another host and key form; the SDKs, made from Bird's OpenAPI, decide).
//
// The Idempotency-Key is remembered for about 3 h, which covers every delay of the retry table. A 2xx and a 4xx are replayed for it, a 5xx is not;
// a 429 is tried again with the same key by Bird's own SDKs, so it is none of those that are kept.

import { z } from 'zod';

import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { providerConfig } from '../settings-check.ts';
import { isNumberOrName } from './sender.ts';

const messagebirdConfig = providerConfig({
  from: z
    .string()
    .refine(isNumberOrName, 'must be a phone number with +, a short code, or a sender id of up to 11 characters')
    .meta({ title: 'Sender', description: 'The sending number (+4930...) or a sender id such as ACME.' }),
  category: z
    .enum(['transactional', 'authentication', 'service', 'marketing'])
    .default('transactional')
    .describe('What the messages are, as carriers want to know it; a registered sender is approved for some of these.'),
});

/** The region is part of the key and decides the host. Visible ASCII, as everything that goes into a header. */
const keyForm = /^bk_([a-z]{2}\d{1,3})_[\x21-\x7e]{1,500}$/;

const apiKeySchema = z
  .string()
  .regex(keyForm, 'must be an API key of Bird, which begins with bk_us1_ or bk_eu1_')
  .meta({
    title: 'API key',
    description: 'An API key of Bird; begins with bk_us1_ or bk_eu1_, which is its region.',
  });

export function messagebird(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'SMS',
      name: 'messagebird',
      label: 'Bird (MessageBird)',
      config: messagebirdConfig,
      apiKey: apiKeySchema,

      call({ delivery, config, apiKey, key }, baseUrl = hostOf(apiKey)) {
        const { from, category } = config;
        const message = {
          from,
          to: delivery.recipient,
          text: delivery.request.body,
          category,
          metadata: { notificationId: key },
        };
        return {
          url: `${baseUrl}/v1/sms/messages`,
          headers: {
            authorization: `Bearer ${apiKey}`,
            'content-type': 'application/json',
            'idempotency-key': key,
          },
          body: JSON.stringify(message),
        };
      },

      read,
    },
    dependencies,
  );
}

function hostOf(apiKey: string): string {
  return `https://${keyForm.exec(apiKey)?.[1] ?? 'us1'}.platform.bird.com`;
}

const success = z.object({ id: z.string().min(1) });
const failure = z.object({
  error: z.object({
    type: z.string(),
    code: z.string(),
    message: z.string(),
    param: z.string().nullish(),
    details: z.array(z.object({ param: z.string(), message: z.string() })).nullish(),
  }),
});

type BirdError = z.infer<typeof failure>['error'];

function read(answer: Answer): Verdict {
  const { status, body, json } = answer;
  if (isSuccess(answer)) {
    const taken = success.safeParse(json);
    return taken.success ? { kind: 'taken', messageId: taken.data.id } : { kind: 'malformed' };
  }
  const error = failure.safeParse(json).data?.error;
  if (error === undefined) {
    return { kind: 'refused', fault: faultOfStatus(status), code: String(status), message: body };
  }
  const details = (error.details ?? []).map(({ param, message }) => `${param}: ${message}`);
  const message = [error.message, ...details].join(' ');
  return { kind: 'refused', fault: faultOf(status, error), code: error.code, message };
}

/** The key was used with another content: that one has been taken, and a repeat gets the same answer. (E01004, the first still in flight, passes.) */
const keyReuse = 'E01005';

/** Each type has one status; `misdirected_error` (421) is a key of another region, `precondition_error` an account that is not verified. */
const credentialTypes = new Set([
  'auth_error',
  'permission_error',
  'billing_error',
  'misdirected_error',
  'not_found_error',
  'precondition_error',
]);

function faultOf(status: number, error: BirdError): Fault {
  if (error.code === keyReuse) return 'content';
  const byStatus = faultOfStatus(status);
  if (byStatus === 'passing') return 'passing';
  if (credentialTypes.has(error.type)) return 'credentials';
  const params = [error.param ?? '', ...(error.details ?? []).map(({ param }) => param)];
  const isAbout = (field: RegExp): boolean => params.some((param) => field.test(param));
  if (isAbout(/^to\b/)) return 'recipient';
  return isAbout(/^from\b/) ? 'credentials' : byStatus;
}
