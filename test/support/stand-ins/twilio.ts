// Twilio: https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource, https://www.twilio.com/docs/api/errors

import { z } from 'zod';

import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongFormField } from './http-stand-in.ts';
import { smsRecipient, smsSender } from './parties.ts';

const apiKey = '0123456789abcdef0123456789abcdef';
const accountSid = `AC${'0'.repeat(32)}`;
const login = `${accountSid}:${apiKey}`;

const message = z.strictObject({
  To: z.string().regex(/^\+\d+$/),
  From: z.literal(smsSender),
  Body: z.string().min(1),
  StatusCallback: z
    .string()
    .regex(/^https:\/\//)
    .optional(),
});

function failure(status: number, code: number, text: string, headers = {}): StandInAnswer {
  return json(
    status,
    { code, message: text, more_info: `https://www.twilio.com/docs/errors/${code}`, status },
    headers,
  );
}

export const twilioStandIn = httpStandIn({
  traits: {
    channel: 'SMS',
    name: 'twilio',
    messageId: /^SM0/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'someoneElsesToken',
    echoes: () => [apiKey, base64(apiKey), base64(login)],
  },
  settings: { apiKey, config: { accountSid, from: smsSender } },
  recipient: () => smsRecipient,
  refusal({ path, headers, body }) {
    if (headers.authorization !== `Basic ${base64(login)}`) return failure(401, 20003, 'Authenticate');
    if (path !== `/2010-04-01/Accounts/${accountSid}/Messages.json`) return failure(404, 20404, 'Not found.');
    const field = wrongFormField(message, body);
    return field === null ? null : failure(400, 21602, `${field} is not valid.`);
  },
  answers: (echo) => ({
    success: json(201, { sid: 'SM00000000000000000000000000000001', status: 'queued', error_code: null }),
    'bad credentials': failure(401, 20003, 'Authenticate'),
    'bad recipient': failure(400, 21211, "The 'To' number is not a valid phone number."),
    throttled: failure(429, 20429, 'Too Many Requests', { 'retry-after': '7' }),
    'server error': { status: 503, body: '<html>Service Unavailable</html>' },
    'malformed answer': { status: 201, body: '<html>welcome</html>' },
    echo: failure(401, 20003, echo),
  }),
});
