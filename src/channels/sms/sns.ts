// SMS `sns`: Publish of Amazon SNS to a phone number, by its Query API, signed here: the SDK of one service is enough to carry.
// https://docs.aws.amazon.com/sns/latest/api/API_Publish.html, https://docs.aws.amazon.com/sns/latest/dg/sms_publish-to-phone.html
//
// Publish to a number has no idempotency key: a repeat after an answer that never came may be a second message.

import { z } from 'zod';

import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import { awsAccess, awsCredentialErrors, awsPassingErrors } from '../aws.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { signedHeaders } from './aws-signature.ts';

const number = /^\+[1-9]\d{5,14}$/;
/** No spaces, at least one letter. */
const senderId = /^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/;

const snsConfig = providerConfig({
  ...awsAccess,
  from: z
    .string()
    .refine((from) => number.test(from) || senderId.test(from), {
      error: 'must be a phone number with +, or a sender id of up to 11 letters and digits',
    })
    .optional()
    .meta({
      title: 'Sender',
      description: 'A number of the account (+1425...) or a sender id such as ACME. Without it Amazon chooses.',
    }),
  smsType: z
    .enum(['Transactional', 'Promotional'])
    .default('Transactional')
    .meta({ title: 'SMS type', description: 'Transactional is delivered most reliably, Promotional costs least.' }),
});

export function sns(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'SMS',
      name: 'sns',
      label: 'Amazon SNS',
      config: snsConfig,
      apiKey: headerKey.meta({ title: 'Secret access key', description: 'The secret of the access key.' }),

      call({ delivery, config, apiKey, now }, baseUrl = `https://sns.${config.region}.amazonaws.com`) {
        const form = new URLSearchParams({
          Action: 'Publish',
          Version: '2010-03-31',
          PhoneNumber: delivery.recipient,
          Message: delivery.request.body,
        });
        attributesOf(config).forEach(([name, value], index) => {
          const entry = `MessageAttributes.entry.${index + 1}`;
          form.set(`${entry}.Name`, name);
          form.set(`${entry}.Value.DataType`, 'String');
          form.set(`${entry}.Value.StringValue`, value);
        });
        const request = {
          url: `${baseUrl}/`,
          headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
          body: form.toString(),
        };
        const { region, accessKeyId } = config;
        const signer = { accessKeyId, secretAccessKey: apiKey, region, service: 'sns' };
        return { ...request, headers: { accept: 'text/xml', ...signedHeaders(request, signer, now) } };
      },

      read,
    },
    dependencies,
  );
}

function attributesOf({ from, smsType }: z.infer<typeof snsConfig>): (readonly [string, string])[] {
  const type = ['AWS.SNS.SMS.SMSType', smsType] as const;
  if (from === undefined) return [type];
  return [type, [number.test(from) ? 'AWS.MM.SMS.OriginationNumber' : 'AWS.SNS.SMS.SenderID', from]];
}

function read(answer: Answer): Verdict {
  const { status, body } = answer;
  if (isSuccess(answer)) {
    const messageId = textOf(body, 'MessageId');
    return messageId === null ? { kind: 'malformed' } : { kind: 'taken', messageId };
  }
  const code = textOf(body, 'Code');
  if (code === null) return { kind: 'refused', fault: faultOfStatus(status), code: String(status), message: body };
  const message = textOf(body, 'Message') ?? '';
  return { kind: 'refused', fault: faultOf(status, code, message), code, message: `${code}: ${message}` };
}

/** Beside the common errors: the account may not, or must use another signature. */
const ownCredentialErrors = new Set(['AuthorizationError', 'InvalidSecurity']);
const ownPassingErrors = new Set(['InternalError', 'Throttled']);

/** InvalidParameter names the parameter: "Invalid parameter: PhoneNumber Reason: +1 is not valid to publish to". */
function faultOf(status: number, code: string, message: string): Fault {
  if (isRetryableStatus(status) || awsPassingErrors.has(code) || ownPassingErrors.has(code)) return 'passing';
  if (awsCredentialErrors.has(code) || ownCredentialErrors.has(code)) return 'credentials';
  if (code === 'OptedOut' || /PhoneNumber/.test(message)) return 'recipient';
  if (/SenderID|OriginationNumber/.test(message)) return 'credentials';
  return faultOfStatus(status);
}

const entities = new Map([
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&amp;', '&'],
]);

/** The text of the first element of that name; null when there is none or it is empty. */
function textOf(xml: string, element: string): string | null {
  const text = new RegExp(`<${element}>([^<]+)</${element}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(?:lt|gt|quot|apos|amp);/g, (entity) => entities.get(entity) ?? entity) ?? null;
}
