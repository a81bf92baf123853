// herald send with a token, whose API key has to be asked for first.

import { expect, it } from '@jest/globals';

import { createClient } from '../../../src/main/tools/client.ts';
import { sendNotification } from '../../../src/main/tools/send.ts';
import { startHttpSink } from '../../support/http-sink.ts';

it('a question for the key that fails is asked again, and the notification is sent', async () => {
  const sink = await startHttpSink({
    respond: ({ path }, response) => {
      if (sink.requests.length === 1) response.writeHead(503).end('{}');
      else response.end(path === '/api/v1/tenant' ? '{"apiKey":"nk_a"}' : '{"notificationId":"notif_a"}');
    },
  });
  const client = createClient({ url: sink.url, token: 'a.b.c' });
  try {
    const sent = { body: '{}', idempotencyKey: undefined, follow: 'no', timeoutMs: null } as const;
    expect(await sendNotification(client, sent)).toBe(true);
    expect(sink.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/tenant',
      'GET /api/v1/tenant',
      'POST /api/v1/notify',
    ]);
    expect(sink.requests.at(-1)?.headers['x-api-key']).toBe('nk_a');
  } finally {
    await sink.close();
  }
});
