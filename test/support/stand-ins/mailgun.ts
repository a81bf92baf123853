// Mailgun: https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages/post-v3--domain-name--messages,
// https://documentation.mailgun.com/docs/mailgun/quickstart-guide/responses

import { z } from 'zod';

import { base64, httpStandIn, json, wrongFormField } from './http-stand-in.ts';
import { emailRecipient, emailSender } from './parties.ts';

const apiKey = 'key-3ax6xnjp29jd6fds4gc373sgvjxteol0';
const login = `api:${apiKey}`;

/** "You can use commas to separate multiple recipients." */
const addresses = z.string().refine((list) => list.split(',').every((one) => z.email().safeParse(one.trim()).success));

const mail = z
  .strictObject({
    from: z.literal('"Acme, Inc." <noreply@example.com>'),
    to: z.email(),
    cc: addresses.optional(),
    bcc: addresses.optional(),
    'h:Reply-To': z.email().optional(),
    subject: z.string(),
    text: z.string().optional(),
    html: z.string().optional(),
    'v:notificationId': z.string().min(1),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined);

const forbidden = { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Forbidden' };

export const mailgunStandIn = httpStandIn({
  traits: {
    channel: 'EMAIL',
    name: 'mailgun',
    messageId: /^<20260102030405\.1@mg\.example\.com>$/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'key-of-someone-else',
    echoes: () => [apiKey, base64(apiKey), base64(login)],
  },
  settings: { apiKey, config: { ...emailSender, domain: 'mg.example.com', region: 'eu' } },
  recipient: () => emailRecipient,
  refusal({ path, headers, body }) {
    if (headers.authorization !== `Basic ${base64(login)}`) return forbidden;
    if (path !== '/v3/mg.example.com/messages') return json(404, { message: 'Domain not found' });
    const field = wrongFormField(mail, body);
    return field === null ? null : json(400, { message: `${field} parameter is missing or not valid` });
  },
  answers: (echo) => ({
    success: json(200, { id: '<20260102030405.1@mg.example.com>', message: 'Queued. Thank you.' }),
    'bad credentials': forbidden,
    'bad recipient': json(400, { message: 'to parameter is not a valid address. please check documentation' }),
    throttled: json(429, { message: 'Too many requests' }, { 'retry-after': '7' }),
    'server error': { status: 500, body: 'Internal Server Error' },
    'malformed answer': json(200, { message: 'Queued. Thank you.' }),
    echo: json(403, { message: echo }),
  }),
});
