// EMAIL `sendgrid`: POST /v3/mail/send of Twilio SendGrid.
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send, .../mail-send/errors,
// https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits
//
// There is no idempotency key: a repeat after an answer that never came may be a second mail. It carries the same `custom_args.notificationId`,
// which every event of SendGrid's webhook shows.

import { z } from 'zod';

import { retryAfterMaxMs } from '../../domain/delivery-outcome.ts';
import { sendgridCallbacks } from '../callbacks/sendgrid.ts';
import type { Answer, Fault, HttpProviderDependencies, Verdict } from '../http-provider.ts';
import { faultOfStatus, httpProvider, isSuccess } from '../http-provider.ts';
import type { ListedProvider } from '../settings-check.ts';
import { headerKey, providerConfig } from '../settings-check.ts';
import { mailOf } from './mail.ts';
import { senderFields } from './sender.ts';

const hosts = { global: 'https://api.sendgrid.com', eu: 'https://api.eu.sendgrid.com' };

const sendgridConfig = providerConfig({
  ...senderFields,
  region: z
    .enum(['global', 'eu'])
    .default('global')
    .describe('eu for a regional subuser whose data stays in the European Union.'),
});

export function sendgrid(dependencies: HttpProviderDependencies): ListedProvider {
  return httpProvider(
    {
      channel: 'EMAIL',
      name: 'sendgrid',
      label: 'SendGrid',
      config: sendgridConfig,
      apiKey: headerKey.meta({ title: 'API key', description: 'An API key with Mail Send access; begins with SG.' }),

      callbacks: sendgridCallbacks,

      call({ delivery, config, apiKey, key }, baseUrl = hosts[config.region]) {
        const { to, cc, bcc, replyTo, subject, text, html, headers } = mailOf(delivery, config);
        const named = {
          to: [{ email: to }],
          ...(cc.length > 0 ? { cc: cc.map((email) => ({ email })) } : {}),
          ...(bcc.length > 0 ? { bcc: bcc.map((email) => ({ email })) } : {}),
        };
        const mail = {
          personalizations: [{ ...named, custom_args: { notificationId: key } }],
          from: { email: config.fromEmail, name: config.fromName },
          ...(replyTo === null ? {} : { reply_to: { email: replyTo } }),
          subject,
          ...(headers === null ? {} : { headers }),
          // The text comes first, or the mail is refused.
          content: [
            ...(text === null ? [] : [{ type: 'text/plain', value: text }]),
            ...(html === null ? [] : [{ type: 'text/html', value: html }]),
          ],
        };
        return {
          url: `${baseUrl}/v3/mail/send`,
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(mail),
        };
      },

      read,
    },
    dependencies,
  );
}

const failure = z.object({
  errors: z.array(z.object({ message: z.string(), field: z.string().nullish() })).min(1),
});

/** 202 is queued, its id in a header and its body empty; 200 belongs to the sandbox mode, which is never asked for. */
function read(answer: Answer, now: number): Verdict {
  const { status, headers, body, json } = answer;
  if (status === 202) return { kind: 'taken', messageId: headers['x-message-id'] ?? null };
  if (isSuccess(answer)) return { kind: 'malformed' };
  const { errors } = failure.safeParse(json).data ?? { errors: [] };
  const said = errors.map(({ field, message }) => (isField(field) ? `${field}: ${message}` : message));
  return {
    kind: 'refused',
    fault: faultOf(status, errors[0]?.field ?? ''),
    code: String(status),
    message: said.length === 0 ? body : said.join('; '),
    ...(status === 429 ? waitOf(headers, now) : {}),
  };
}

/** Some errors have the field "null" as text. */
function isField(field: string | null | undefined): field is string {
  return typeof field === 'string' && field !== '' && field !== 'null';
}

/**
 * Errors have no codes but the field: `personalizations.0.to.0.email`, `from.email`. 403 is a sender that is not verified or a key without the
 * right, 401 an account without credits, too; 451 an account whose data may not be in this region.
 */
function faultOf(status: number, field: string): Fault {
  if (status === 451) return 'credentials';
  if (status !== 400) return faultOfStatus(status);
  if (/^personalizations\b.*\b(?:to|cc|bcc)\b/.test(field)) return 'recipient';
  return field === 'from' || field.startsWith('from.') ? 'credentials' : 'content';
}

/** Every answer says when the next period begins, in whole seconds of UTC; a 429 has no Retry-After beside it, as far as is documented. */
function waitOf(headers: Answer['headers'], now: number): { retryAfterMs?: number } {
  const reset = headers['x-ratelimit-reset'] ?? '';
  if (headers['retry-after'] !== undefined || !/^\d{9,11}$/.test(reset)) return {};
  return { retryAfterMs: Math.min(Math.max(Number(reset) * 1000 - now, 0), retryAfterMaxMs) };
}
