// Postmark: https://postmarkapp.com/developer/api/email-api, https://postmarkapp.com/developer/api/overview#error-codes

import { z } from 'zod';

import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongField } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = '0f5b5f5e-6f3b-4b5e-9d7a-3c1f2a4b5c6d';

/** Comma separated, 50 at most. */
const addresses = z.string().refine((list) => list.split(',').every((one) => z.email().safeParse(one.trim()).success));

const mail = z
  .strictObject({
    From: z.literal('"Acme, Inc." <noreply@example.com>'),
    To: z.email(),
    Cc: addresses.optional(),
    Bcc: addresses.optional(),
    ReplyTo: z.email().optional(),
    Subject: z.string(),
    TextBody: z.string().optional(),
    HtmlBody: z.string().optional(),
    // Names have at most 20 characters, values 80.
    Metadata: z.record(z.string().max(20), z.string().max(80)),
  })
  .refine((mail) => mail.TextBody !== undefined || mail.HtmlBody !== undefined);

function failure(status: number, ErrorCode: number, Message: string, headers = {}): StandInAnswer {
  return json(status, { ErrorCode, Message }, headers);
}

export const postmarkStandIn = httpStandIn({
  traits: {
    channel: 'EMAIL',
    name: 'postmark',
    messageId: /^0a129aee-e1cd-480d-b08d-4f48548ff48d$/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'someone-elses-token',
    echoes: () => [apiKey, base64(apiKey)],
  },
  settings: { apiKey, config: emailSender },
  recipient: () => emailRecipient,
  refusal({ path, headers, body }) {
    if (path !== '/email') return { status: 404, body: '' };
    if (headers['x-postmark-server-token'] !== apiKey) {
      return failure(
        401,
        10,
        'The Server Token you provided in the X-Postmark-Server-Token request header was invalid.',
      );
    }
    if (headers.accept !== 'application/json' || headers['content-type'] !== 'application/json') {
      return failure(422, 409, 'Your HTTP request does not have the Accept and Content-Type headers set.');
    }
    const field = wrongField(mail, body);
    return field === null ? null : failure(422, 300, `Invalid '${field}'.`);
  },
  answers: (echo) => ({
    success: json(200, {
      To: emailRecipient,
      SubmittedAt: '2026-01-02T03:04:05.0000000Z',
      MessageID: '0a129aee-e1cd-480d-b08d-4f48548ff48d',
      ErrorCode: 0,
      Message: 'OK',
    }),
    'bad credentials': failure(401, 10, 'No Account or Server API tokens were supplied in the HTTP headers.'),
    'bad recipient': failure(422, 406, 'You tried to send to a recipient that has been marked as inactive.'),
    throttled: failure(429, 429, 'Rate limit exceeded.', { 'retry-after': '7' }),
    'server error': failure(500, 0, 'Internal Server Error'),
    'malformed answer': json(200, { ErrorCode: 0, Message: 'OK' }),
    echo: failure(401, 10, echo),
  }),
});
