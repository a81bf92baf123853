// Compiles only as long as the client's types refuse what the service would refuse.

import type { Herald, NotificationRequest } from '../../clients/typescript/src/index.ts';

export const taken: readonly NotificationRequest[] = [
  { channel: 'EMAIL', recipient: 'ada@example.com', subject: 'Hello', body: 'World', cc: ['bo@example.com'] },
  { channel: 'EMAIL', recipient: 'ada@example.com', template: 'welcome', data: { name: 'Ada' }, transactional: true },
  { channel: 'SMS', recipient: '+15005550006', body: 'Hello', priority: 'HIGH', ttlSeconds: 60 },
  { channel: 'WEBHOOK', recipient: 'https://acme.example/hooks', body: 'Hello', metadata: { order: '17' } },
  { channel: 'IN_APP', recipient: 'ada', body: 'Hello', expiresAt: '2030-01-01T00:00:00Z' },
];

const mail = { channel: 'EMAIL', recipient: 'ada@example.com' } as const;
const inApp = { channel: 'IN_APP', recipient: 'ada' } as const;

export const refused: readonly NotificationRequest[] = [
  // @ts-expect-error a channel that there isn't
  { channel: 'FAX', recipient: '+15005550006', body: 'Hello' },
  // @ts-expect-error a channel in lower case
  { channel: 'email', recipient: 'ada@example.com', subject: 'Hello', body: 'World' },
  // @ts-expect-error a mail without a subject
  { ...mail, body: 'World' },
  // @ts-expect-error neither a template nor a body
  { ...inApp },
  // @ts-expect-error a template and a body
  { ...inApp, template: 'welcome', body: 'World' },
  // @ts-expect-error a field that isn't known
  { channel: 'IN_APP', recipient: 'ada', body: 'Hello', colour: 'red' },
  // @ts-expect-error a field of mails
  { channel: 'SMS', recipient: '+15005550006', body: 'Hello', cc: ['bo@example.com'] },
  // @ts-expect-error nobody
  { channel: 'IN_APP', body: 'Hello' },
  // @ts-expect-error a priority that there isn't
  { ...inApp, body: 'Hello', priority: 'URGENT' },
  // @ts-expect-error two ends
  { ...inApp, body: 'Hello', ttlSeconds: 60, expiresAt: '2030-01-01T00:00:00Z' },
];

export async function calls(herald: Herald): Promise<readonly (string | null)[]> {
  const { notification } = await herald.request('GET /notifications/{id}', { path: { id: 'notif_1' } });
  // @ts-expect-error an operation that there isn't
  await herald.request('GET /nowhere');
  // @ts-expect-error the id is missing
  await herald.request('GET /notifications/{id}');
  // @ts-expect-error a parameter that there isn't
  await herald.request('GET /notifications', { query: { colour: 'red' } });
  // @ts-expect-error a status that there isn't
  await herald.request('GET /notifications', { query: { status: 'LOST' } });
  // @ts-expect-error a stream isn't a request
  await herald.request('GET /dashboard/stream');
  // @ts-expect-error what has no pages has none to go through
  herald.each('GET /tenant');
  herald.each('GET /notifications', { query: { limit: 50, status: 'FAILED' } });
  // @ts-expect-error pages follow by cursors, beside which there is no number of a page
  herald.each('GET /notifications', { query: { page: 1 } });
  // @ts-expect-error the same
  herald.pages('GET /notifications', { query: { page: 1 } });
  // @ts-expect-error a mail without a subject, in a batch
  await herald.notifyBatch([{ channel: 'EMAIL', recipient: 'ada@example.com', body: 'World' }]);
  // @ts-expect-error a record has no such field
  const nothing = notification.colour;
  const titles: (string | null)[] = [nothing, notification.status];
  for await (const item of herald.each('GET /notify/inapp/{userId}', { path: { userId: 'ada' } }))
    titles.push(item.title);
  for await (const message of herald.stream('GET /notify/inapp/{userId}/stream', { path: { userId: 'ada' } })) {
    if (message.event === 'notification') titles.push(message.data.title);
    // @ts-expect-error only an item has a title
    if (message.event === 'read') titles.push(message.data.title);
  }
  return titles;
}
