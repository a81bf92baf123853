// The main job by the package as it is published: prints what it saw. It is compiled and run apart from the tests.

import { createHerald, HeraldError, verifyWebhook } from '@herald-notifications/client';

const [url = '', apiKey = '', token = ''] = process.argv.slice(2);
const herald = createHerald({ url, apiKey, token });
const recipient = `ada-${process.version}`;
const path = { userId: recipient };

const streamed = (async () => {
  for await (const { event, data } of herald.stream('GET /notify/inapp/{userId}/stream', { path })) {
    if (event === 'connected') {
      await herald.notify({ channel: 'IN_APP', recipient, subject: 'Hello', body: 'Order {{ n }}', data: { n: 17 } });
    }
    if (event === 'notification') return data.body;
  }
  return null;
})();
const body = await streamed;

const { accepted } = await herald.notifyBatch([
  { channel: 'IN_APP', recipient, body: 'two' },
  { channel: 'IN_APP', recipient, body: 'three' },
]);
let unread = 0;
while (unread < 3) ({ unreadCount: unread } = await herald.request('GET /notify/inapp/{userId}', { path }));
const bodies: string[] = [];
for await (const item of herald.each('GET /notify/inapp/{userId}', { path, query: { limit: 2 } }))
  bodies.push(item.body);
const { updated } = await herald.request('POST /notify/inapp/{userId}/read', { path });
const refused = await herald
  .notify({ channel: 'SMS', recipient: 'nobody', body: 'x' })
  .catch((error: unknown) => (error instanceof HeraldError ? [error.code, error.details[0]?.path] : error));
const { webhookSecret } = await herald.request('GET /tenant');
const forged = await verifyWebhook({ secrets: webhookSecret, headers: {}, body: '{}' }).catch(
  (error: Error) => error.name,
);

console.log(JSON.stringify({ body, accepted, bodies: bodies.toSorted(), updated, refused, forged }));
process.exit(0);
