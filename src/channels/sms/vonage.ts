// SMS `vonage`: the SMS API of Vonage (Nexmo). Its answer is always a list with a status of each part; the HTTP status says little.
// https://developer.vonage.com/en/api/sms, https://developer.vonage.com/en/messaging/sms/guides/troubleshooting-sms,
// https://developer.vonage.com/en/api-errors/sms
//
// There is no idempotency key: a repeat after an answer that never came may be a second message. It carries the same `client-ref`.

import { z } from 'zod';

import { isRetryableStatus } from '../../domain/delivery-outcome.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { isNumberOrName, withoutPlus } from './sender.ts';

const vonageConfig = providerConfig({
  apiKeyId: z
    .string()
    .regex(/^[A-Za-z0-9]{1,32}$/, 'must be the API key of the account, letters and digits')
    .meta({ title: 'API key', description: "The account's API key, e.g. abcd1234; its secret goes into apiKey." }),
  from: z
    .string()
    .refine(isNumberOrName, 'must be a phone number with +, a short code, or a sender id of up to 11 characters')
    .meta({ title: 'Sender', description: 'The sending number (+4930...) or a sender id such as ACME.' }),
});

export function vonage(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'SMS',
      name: 'vonage',
      label: 'Vonage',
      config: vonageConfig,
      apiKey: headerKey.meta({ title: 'API secret', description: 'The API secret of the account.' }),

      call({ delivery, config, apiKey, key }, baseUrl = 'https://rest.nexmo.com') {
        const text = delivery.request.body;
        const form = new URLSearchParams({
          api_key: config.apiKeyId,
          api_secret: apiKey,
          from: withoutPlus(config.from),
          to: withoutPlus(delivery.recipient),
          text,
          type: gsmAlphabet.test(text) ? 'text' : 'unicode',
          'client-ref': key,
        });
        return {
          url: `${baseUrl}/sms/json`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: form.toString(),
        };
      },

      read,
    },
    dependencies,
  );
}

/** GSM 03.38 with its extension table: what goes out as `text`; anything else arrives broken unless it is said to be Unicode. */
const gsmAlphabet = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà\f^{}\\[~\]|€]*$/u;

const parts = z.object({
  messages: z
    .array(z.object({ status: z.string(), 'message-id': z.string().optional(), 'error-text': z.string().optional() }))
    .min(1),
});

/** A long text is several parts; the first that was refused counts for all. */
function read(answer: Answer): Verdict {
  const { status, body, json } = answer;
  const messages = parts.safeParse(json).data?.messages;
  const failed = messages?.find((part) => part.status !== '0');
  if (failed !== undefined) {
    const message = failed['error-text'] ?? `status ${failed.status}`;
    return { kind: 'refused', fault: faultOf(failed.status, message, status), code: failed.status, message };
  }
  if (!isSuccess(answer)) return { kind: 'refused', fault: faultOfStatus(status), code: String(status), message: body };
  const messageId = messages?.[0]?.['message-id'] ?? '';
  return messageId === '' ? { kind: 'malformed' } : { kind: 'taken', messageId };
}

/** 1 throttled, 5 internal error, 10 too many connections; 13, of the older tables, a failed communication. */
const passing = new Set(['1', '5', '10', '13']);

const faults = new Map<string, Fault>([
  // 4 key or secret; 8 account barred; 9 no credit; 11 account not for HTTP; 14 and 32 signature; 15 sender; 29 a trial account's permitted numbers.
  ...['4', '8', '9', '11', '14', '15', '29', '32'].map((code) => [code, 'credentials'] as const),
  // 6 a prefix that leads nowhere; 7 barred; 33 deactivated; 34, of the older tables, no number.
  ...['6', '7', '33', '34'].map((code) => [code, 'recipient'] as const),
]);

/** 2 and 3 are parameters that are missing or wrong, the text names them ("Invalid from param"); 12 is too long. */
function faultOf(code: string, text: string, httpStatus: number): Fault {
  if (passing.has(code) || isRetryableStatus(httpStatus)) return 'passing';
  const known = faults.get(code);
  if (known !== undefined) return known;
  if (/\bto\b/i.test(text)) return 'recipient';
  return /\b(from|api_key|api_secret)\b/i.test(text) ? 'credentials' : 'content';
}
