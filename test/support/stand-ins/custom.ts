// A receiver of webhooks: answers as API.md, "Webhooks out" and "Retries", asks of one.

import { base64, httpStandIn } from './http-stand-in.ts';

const apiKey = 'a text/with+signs & spaces';

export const customStandIn = httpStandIn({
  traits: {
    channel: 'WEBHOOK',
    name: 'custom',
    messageId: null,
    saysRetryAfter: true,
    hasAnswerForm: false,
    wrongKey: null,
    echoes: () => [apiKey, base64(apiKey), encodeURIComponent(apiKey)],
  },
  settings: { apiKey, config: {} },
  recipient: (url) => `${url}/hook`,
  refusal: ({ path }) => (path === '/hook' ? null : { status: 404, body: 'not here' }),
  answers: (echo) => ({
    success: { status: 204, body: '' },
    'bad credentials': { status: 401, body: 'no' },
    'bad recipient': { status: 410, body: 'gone' },
    throttled: { status: 429, headers: { 'retry-after': '7' }, body: 'slow down' },
    'server error': { status: 502, body: 'bad gateway' },
    'malformed answer': { status: 200, body: '' },
    echo: { status: 400, body: echo },
  }),
});
