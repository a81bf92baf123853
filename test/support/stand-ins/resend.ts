// Resend: https://resend.com/docs/api-reference/emails/send-email, https://resend.com/docs/api-reference/errors

import { z } from 'zod';

import { base64, httpStandIn, json, wrongField } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = 're_secret_123456';

const mail = z
  .strictObject({
    from: z.string().includes('<noreply@example.com>'),
    to: z.array(z.email()).length(1),
    cc: z.array(z.email()).min(1).max(50).optional(),
    bcc: z.array(z.email()).min(1).max(50).optional(),
    reply_to: z.email().optional(),
    subject: z.string(),
    text: z.string().optional(),
    html: z.string().optional(),
    // ASCII letters, digits, underscores and dashes.
    tags: z.array(z.strictObject({ name: z.string(), value: z.string().regex(/^[\w-]{1,256}$/) })).optional(),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined);

const failure = (statusCode: number, name: string, message: string, headers = {}) =>
  json(statusCode, { statusCode, name, message }, headers);

export const resendStandIn = httpStandIn({
  traits: {
    channel: 'EMAIL',
    name: 'resend',
    messageId: /^49a3999c-/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 're_of_someone_else',
    echoes: () => [apiKey, base64(apiKey)],
  },
  settings: { apiKey, config: emailSender },
  recipient: () => emailRecipient,
  refusal({ path, headers, body }) {
    if (path !== '/emails') return failure(404, 'not_found', 'The requested endpoint does not exist.');
    if (headers.authorization !== `Bearer ${apiKey}`) return failure(403, 'invalid_api_key', 'API key is invalid');
    if (!/^\S{1,256}$/.test(String(headers['idempotency-key']))) {
      return failure(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars.');
    }
    const field = wrongField(mail, body);
    return field === null ? null : failure(422, 'validation_error', `Invalid \`${field}\` field.`);
  },
  answers: (echo) => ({
    success: json(200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' }),
    'bad credentials': failure(403, 'invalid_api_key', 'API key is invalid'),
    'bad recipient': failure(422, 'validation_error', 'Invalid `to` field.'),
    throttled: failure(429, 'rate_limit_exceeded', 'Too many requests.', { 'retry-after': '7' }),
    'server error': failure(500, 'application_error', 'An unexpected error occurred.'),
    'malformed answer': { status: 200, body: '<html>welcome</html>' },
    echo: failure(403, 'invalid_api_key', echo),
  }),
});
