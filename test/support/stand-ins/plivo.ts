// Plivo: https://docs.plivo.com/docs/messaging/api/message/send-a-message, https://docs.plivo.com/docs/messaging/api/response

import { z } from 'zod';

import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongField } from './http-stand-in.ts';
import { smsRecipient, smsSender } from './parties.ts';

const apiKey = 'ZTc4ZDUzNGItMDY4OC0xMWVj';
const authId = 'MAXXXXXXXXXXXXXXXXXX';
const login = `${authId}:${apiKey}`;

const message = z.strictObject({
  src: z.literal(smsSender.slice(1)),
  dst: z.string().regex(/^[1-9]\d{6,14}$/),
  text: z.string().min(1),
});

function failure(status: number, error: string, headers = {}): StandInAnswer {
  return json(status, { api_id: '97ceeb52-58b6-11e1-86da-77300b68f8bb', error }, headers);
}

const unauthorized = {
  status: 401,
  headers: { 'content-type': 'text/plain' },
  body: 'Could not verify your access level for that URL. You have to login with proper credentials',
};

export const plivoStandIn = httpStandIn({
  traits: {
    channel: 'SMS',
    name: 'plivo',
    messageId: /^db3ce55a-7f1d-11e1-8ea7-1231380bc196$/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'someoneElsesToken',
    echoes: () => [apiKey, base64(apiKey), base64(login)],
  },
  settings: { apiKey, config: { authId, from: smsSender } },
  recipient: () => smsRecipient,
  refusal({ path, headers, body }) {
    if (headers.authorization !== `Basic ${base64(login)}`) return unauthorized;
    if (path !== `/v1/Account/${authId}/Message/`) return failure(404, 'not found');
    if (headers['content-type'] !== 'application/json') return failure(400, 'invalid json data sent in raw POST');
    const field = wrongField(message, body);
    return field === null ? null : failure(400, `${field} parameter is not valid`);
  },
  answers: (echo) => ({
    success: json(202, {
      api_id: 'db342550-7f1d-11e1-8ea7-1231380bc196',
      message: 'message(s) queued',
      message_uuid: ['db3ce55a-7f1d-11e1-8ea7-1231380bc196'],
    }),
    'bad credentials': unauthorized,
    'bad recipient': failure(400, "'491701234567' is not a valid phone number."),
    throttled: failure(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
    'server error': failure(500, 'server error'),
    'malformed answer': json(202, { message: 'message(s) queued', message_uuid: [] }),
    echo: failure(400, echo),
  }),
});
