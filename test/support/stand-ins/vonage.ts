// Vonage: https://developer.vonage.com/en/api/sms, https://developer.vonage.com/en/api-errors/sms

import { z } from 'zod';

import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongFormField } from './http-stand-in.ts';
import { smsRecipient } from './parties.ts';

const apiKey = 'S3cret+/=&of/Vonage';

const message = z.strictObject({
  api_key: z.literal('abcd1234'),
  api_secret: z.string(),
  from: z.literal('AcmeInc'),
  // Without a + or zeros.
  to: z.string().regex(/^[1-9]\d{6,14}$/),
  text: z.string().min(1),
  type: z.enum(['text', 'unicode']),
  'client-ref': z.string().min(1).max(100),
});

/** The HTTP status is 200 whatever happened. */
function failure(status: string, text: string): StandInAnswer {
  return json(200, { 'message-count': '1', messages: [{ status, 'error-text': text }] });
}

export const vonageStandIn = httpStandIn({
  traits: {
    channel: 'SMS',
    name: 'vonage',
    messageId: /^0A0000000123ABCD1$/,
    saysRetryAfter: false,
    hasAnswerForm: true,
    wrongKey: 'SomeoneElses',
    echoes: () => [apiKey, base64(apiKey), encodeURIComponent(apiKey)],
  },
  settings: { apiKey, config: { apiKeyId: 'abcd1234', from: 'AcmeInc' } },
  recipient: () => smsRecipient,
  refusal({ path, body }) {
    if (path !== '/sms/json') return { status: 404, body: '<html>404</html>' };
    if (new URLSearchParams(body).get('api_secret') !== apiKey) return failure('4', 'Bad Credentials');
    const field = wrongFormField(message, body);
    return field === null ? null : failure('3', `Invalid ${field} param`);
  },
  answers: (echo) => ({
    success: json(200, {
      'message-count': '1',
      messages: [{ to: '491701234567', 'message-id': '0A0000000123ABCD1', status: '0', 'remaining-balance': '3.14' }],
    }),
    'bad credentials': failure('4', 'Bad Credentials'),
    'bad recipient': failure('7', 'Number barred'),
    throttled: failure('1', 'Throughput Rate Exceeded - please wait [ 250 ] and retry'),
    'server error': failure('5', 'Internal Error'),
    'malformed answer': json(200, { 'message-count': '0', messages: [] }),
    echo: failure('4', echo),
  }),
});
