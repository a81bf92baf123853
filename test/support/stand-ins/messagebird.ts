// Bird: https://bird.com/en-us/docs/api, .../docs/api/errors, .../docs/api/idempotency
//
// Of its error codes E01001, E01004 and E01005 are documented; the others here have the documented form alone.

import { z } from 'zod';

import type { StandInAnswer } from './http-stand-in.ts';
import { base64, httpStandIn, json, wrongField } from './http-stand-in.ts';
import { smsRecipient, smsSender } from './parties.ts';

const apiKey = 'bk_eu1_4fA9kQ2mZx7Rt1Vw8Yb3';

const message = z.strictObject({
  from: z.literal(smsSender),
  to: z.string().regex(/^\+\d+$/),
  text: z.string().min(1),
  category: z.enum(['transactional', 'authentication', 'service', 'marketing']),
  metadata: z.strictObject({ notificationId: z.string().min(1) }),
});

function failure(status: number, type: string, code: string, text: string, more = {}, headers = {}): StandInAnswer {
  const doc_url = `https://docs.bird.com/errors/${code}`;
  const error = { type, code, name: 'Error', message: text, doc_url, request_id: 'req_1', ...more };
  return json(status, { error }, headers);
}

const details = (param: string, text: string) => ({ details: [{ param, message: text }] });

export const messagebirdStandIn = httpStandIn({
  traits: {
    channel: 'SMS',
    name: 'messagebird',
    messageId: /^sms_01krdgeqcxet5s7t44vh8rt9mg$/,
    saysRetryAfter: true,
    hasAnswerForm: true,
    wrongKey: 'bk_eu1_someoneElses',
    echoes: () => [apiKey, base64(apiKey)],
  },
  settings: { apiKey, config: { from: smsSender } },
  recipient: () => smsRecipient,
  refusal({ path, headers, body }) {
    if (headers['user-agent'] === undefined) return failure(403, 'permission_error', 'E02002', 'No User-Agent.');
    if (headers.authorization !== `Bearer ${apiKey}`) return failure(401, 'auth_error', 'E02001', 'Invalid API key.');
    if (path !== '/v1/sms/messages') return failure(404, 'not_found_error', 'E02003', 'No such resource.');
    if (!/^\S{1,255}$/.test(String(headers['idempotency-key']))) {
      return failure(400, 'bad_request_error', 'E01002', 'Invalid Idempotency-Key.');
    }
    const field = wrongField(message, body);
    if (field === null) return null;
    return failure(422, 'validation_error', 'E01001', 'Request validation failed.', details(field, 'is not valid'));
  },
  answers: (echo) => ({
    success: json(202, { id: 'sms_01krdgeqcxet5s7t44vh8rt9mg', status: 'accepted', to: smsRecipient }),
    'bad credentials': failure(403, 'permission_error', 'E02002', 'The key lacks the scope.'),
    'bad recipient': failure(
      422,
      'validation_error',
      'E01001',
      'Request validation failed.',
      details('to', 'must be a phone number in E.164 format'),
    ),
    throttled: failure(429, 'rate_limit_error', 'E02004', 'Too many requests.', {}, { 'retry-after': '7' }),
    'server error': failure(503, 'service_unavailable_error', 'E02005', 'Try again.'),
    'malformed answer': json(202, { status: 'accepted' }),
    echo: failure(401, 'auth_error', 'E02001', echo),
  }),
});

/** What Bird says of an Idempotency-Key: its first request still in flight, or used with another body. */
export const birdKeyInFlight = failure(409, 'conflict_error', 'E01004', 'The request is in progress.');
export const birdKeyReused = failure(409, 'conflict_error', 'E01005', 'The key was used with another request.');
