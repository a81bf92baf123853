// SendGrid: https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send, .../mail-send/errors,
// .../how-to-use-the-sendgrid-v3-api/rate-limits

import { z } from 'zod';

import { contractNow } from '../../contracts/provider.ts';
import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongField } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = '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';

const address = z.strictObject({ email: z.email() });

const mail = z.strictObject({
  personalizations: z
    .array(
      z.strictObject({
        to: z.array(address).length(1),
        cc: z.array(address).min(1).optional(),
        bcc: z.array(address).min(1).optional(),
        custom_args: z.strictObject({ notificationId: z.string().min(1) }),
      }),
    )
    .length(1),
  from: z.strictObject({ email: z.literal(emailSender.fromEmail), name: z.literal(emailSender.fromName) }),
  reply_to: address.optional(),
  subject: z.string().min(1),
  // text/plain comes first.
  content: z
    .array(z.strictObject({ type: z.enum(['text/plain', 'text/html']), value: z.string().min(1) }))
    .min(1)
    .max(2)
    .refine(
      (content) => content.length === 1 || (content[0]?.type === 'text/plain' && content[1]?.type === 'text/html'),
    ),
});

/** "Each email address in the personalization block should be unique between to, cc, and bcc." */
function namedTwice(body: string): string | null {
  const { personalizations } = mail.parse(JSON.parse(body));
  const named = personalizations.flatMap(({ to, cc = [], bcc = [] }) => [...to, ...cc, ...bcc]);
  const isUnique = new Set(named.map(({ email }) => email.toLowerCase())).size === named.length;
  return isUnique ? null : 'personalizations.0';
}

function failure(status: number, message: string, field: string | null = null): StandInAnswer {
  return json(status, { errors: [{ message, field, help: null }] });
}

const queued = { status: 202, headers: { 'x-message-id': 'FSbrAtZzQOyaHxq1X1' }, body: '' };
/** Every answer has it; of a 429 it counts. */
const reset = { 'x-ratelimit-reset': String(contractNow / 1000 + 7) };

export const sendgridStandIn = httpStandIn({
  traits: {
    channel: 'EMAIL',
    name: 'sendgrid',
    messageId: /^FSbrAtZzQOyaHxq1X1$/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'SG.someone.else',
    echoes: () => [apiKey, base64(apiKey)],
  },
  settings: { apiKey, config: emailSender },
  recipient: () => emailRecipient,
  refusal({ path, headers, body }) {
    if (path !== '/v3/mail/send') return failure(404, 'The resource you tried to locate could not be found.');
    if (headers.authorization !== `Bearer ${apiKey}`) {
      return failure(401, 'The provided authorization grant is invalid, expired, or revoked');
    }
    if (headers['content-type'] !== 'application/json') return failure(415, 'Content-Type should be application/json.');
    const field = wrongField(mail, body) ?? namedTwice(body);
    return field === null ? null : failure(400, 'The field is not valid.', field);
  },
  answers: (echo) => ({
    success: queued,
    'bad credentials': failure(401, 'The provided authorization grant is invalid, expired, or revoked'),
    'bad recipient': failure(400, 'Does not contain a valid address.', 'personalizations.0.to.0.email'),
    throttled: { ...failure(429, 'too many requests'), headers: reset },
    'server error': { ...failure(500, 'Internal server error'), headers: reset },
    'malformed answer': { status: 200, body: '<html>welcome</html>' },
    echo: failure(401, echo),
  }),
});
