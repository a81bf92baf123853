// EMAIL `mailgun`: POST /v3/{domain}/messages.
// https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages/post-v3--domain-name--messages,
// https://documentation.mailgun.com/docs/mailgun/quickstart-guide/responses
//
// There is no idempotency key: a repeat after an answer that never came may be a second mail. It carries the same variable `notificationId`, which
// every event of Mailgun's shows. A 429 is to be tried again "as defined in the response", in which header is not said: Retry-After is read, and a time in
// the message.

import { z } from 'zod';

import { retryAfterMs } from '../../domain/delivery-outcome.ts';
import { mailgunCallbacks } from '../callbacks/mailgun.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { basicLogin, faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { mailOf } from './mail.ts';
import { senderFields, senderText } from './sender.ts';

const hosts = { us: 'https://api.mailgun.net', eu: 'https://api.eu.mailgun.net' };

const mailgunConfig = providerConfig({
  ...senderFields,
  domain: z
    .string()
    .max(253, 'must have at most 253 characters')
    .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i, 'must be a domain')
    .describe('The sending domain as Mailgun knows it, e.g. mg.example.com.'),
  region: z.enum(['us', 'eu']).default('us').describe('Where the domain was set up.'),
});

export function mailgun(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'EMAIL',
      name: 'mailgun',
      label: 'Mailgun',
      config: mailgunConfig,
      apiKey: headerKey.meta({
        title: 'API key',
        description: 'A sending key of the domain, or a key of the account.',
      }),

      callbacks: mailgunCallbacks,

      call({ delivery, config, apiKey, key }, baseUrl = hosts[config.region]) {
        const { to, cc, bcc, replyTo, subject, text, html, headers } = mailOf(delivery, config);
        const form = new URLSearchParams({
          from: senderText(config),
          to,
          ...(cc.length > 0 ? { cc: cc.join(', ') } : {}),
          ...(bcc.length > 0 ? { bcc: bcc.join(', ') } : {}),
          ...(replyTo === null ? {} : { 'h:Reply-To': replyTo }),
          subject,
          ...(text === null ? {} : { text }),
          ...(html === null ? {} : { html }),
          ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [`h:${name}`, value])),
          'v:notificationId': key,
        });
        return {
          url: `${baseUrl}/v3/${config.domain}/messages`,
          headers: { authorization: basicLogin('api', apiKey), 'content-type': 'application/x-www-form-urlencoded' },
          body: form.toString(),
        };
      },

      read,
    },
    dependencies,
  );
}

const success = z.object({ id: z.string().min(1), message: z.string() });
const failure = z.object({ message: z.string() });

function read(answer: Answer, now: number): Verdict {
  const { status, headers, body, json } = answer;
  if (isSuccess(answer)) {
    const taken = success.safeParse(json);
    return taken.success ? { kind: 'taken', messageId: taken.data.id } : { kind: 'malformed' };
  }
  // A wrong key gets the plain text "Forbidden".
  const message = failure.safeParse(json).data?.message ?? body;
  const fault = faultOf(status, message);
  const wait = fault === 'passing' && headers['retry-after'] === undefined ? waitOf(message, now) : {};
  return { kind: 'refused', fault, code: String(status), message, ...wait };
}

/** "Domain mg.example.com is not allowed to send: recipient limit exceeded, try again after Wed, 22 Feb 2023 10:04:01 UTC" */
function waitOf(message: string, now: number): { retryAfterMs?: number | null } {
  const until = /try again after ([^.]{1,40}) UTC/i.exec(message)?.[1];
  return until === undefined ? {} : { retryAfterMs: retryAfterMs(`${until} GMT`, now) };
}

/**
 * There are no codes: a 400 names the parameter ("to parameter is not a valid address. please check documentation"), a 404 is a domain that the
 * account doesn't have in this region.
 */
function faultOf(status: number, message: string): Fault {
  // Not in the documentation; senders report it as the limit of an hour, or of an account that is new (https://github.com/mailgun/mailgun-java/issues/50).
  if (status === 420) return 'passing';
  if (status === 404) return 'credentials';
  if (status !== 400) return faultOfStatus(status);
  if (/\b(?:to|cc|bcc)\b'? parameter/i.test(message)) return 'recipient';
  return /\bfrom\b'? parameter/i.test(message) ? 'credentials' : 'content';
}
