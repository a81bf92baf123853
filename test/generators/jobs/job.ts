// The main job by the client that @hey-api/openapi-ts makes: sends, reads back, and prints what it saw as JSON.

import { createClient } from './client/client';
import {
  createKey,
  createTemplate,
  getSentNotification,
  listInbox,
  listNotifications,
  markInboxRead,
  notify,
  previewTemplate,
  saveProvider,
} from './client';

const { API_URL = '', API_KEY = '', API_TOKEN = '' } = process.env;
const name = 'typescript';
const byKey = createClient({ baseUrl: API_URL, auth: API_KEY });
const byToken = createClient({ baseUrl: API_URL, auth: API_TOKEN });

async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < 200; i++) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('waited in vain');
}

async function main(): Promise<void> {
  const throwOnError = true;
  const { data: accepted } = await notify({
    client: byKey,
    throwOnError,
    body: {
      channel: 'IN_APP',
      recipient: name,
      subject: 'Hello',
      body: 'Order {{ order.number }} of {{ name }}',
      data: { name: 'Ada', order: { number: 17 } },
      metadata: { job: name },
    },
  });
  const path = { id: accepted.notificationId };
  const record = await until(async () => {
    const { data } = await getSentNotification({ client: byKey, path });
    return data?.notification.status === 'DELIVERED' ? data.notification : undefined;
  });
  const userId = { userId: name };
  const { data: inbox } = await listInbox({ client: byKey, throwOnError, path: userId });
  const ids = inbox.notifications.map(({ id }) => id);
  const { data: marked } = await markInboxRead({ client: byKey, throwOnError, path: userId, body: { ids } });
  const { data: key } = await createKey({ client: byToken, throwOnError, body: { name, scopes: ['notify'] } });
  const body = { name, channel: 'SMS', body: '{{ code }} {{ other }}' } as const;
  const { data: template } = await createTemplate({ client: byToken, throwOnError, body });
  const { data: preview } = await previewTemplate({
    client: byToken,
    throwOnError,
    path: { id: template.id },
    body: { data: { code: 1234 } },
  });
  const { data: provider } = await saveProvider({
    client: byToken,
    throwOnError,
    body: {
      channel: 'EMAIL',
      provider: 'resend',
      apiKey: 're_0123456789abcdef',
      config: { fromName: name, fromEmail: 'hello@acme.example' },
    },
  });
  const listed = await until(async () => {
    const { data } = await listNotifications({ client: byToken, throwOnError, query: { metadata: { job: name } } });
    return data.data.length > 0 ? data.data : undefined;
  });
  const { error } = await notify({ client: byKey, body: { channel: 'SMS', recipient: 'nobody', body: 'x' } });
  const seen = {
    accepted: accepted.status,
    body: record.body,
    data: record.data,
    inbox: inbox.notifications.map(({ title }) => title),
    unread: inbox.unreadCount,
    updated: marked.updated,
    scopes: key.scopes,
    key: key.key.slice(0, 3),
    preview: preview.body,
    missing: preview.missing,
    config: provider.config,
    listed: listed.map(({ id }) => id === accepted.notificationId),
    refused: [error?.code, error?.details[0]?.path],
  };
  console.log(JSON.stringify(seen));
}

void main();
