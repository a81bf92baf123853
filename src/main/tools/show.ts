// herald show ID: a notification with its attempts, as a time line or as the API answers it.

import type { Client } from './client.ts';
import { HeraldRefusal } from './client.ts';
import type { Attempt, NotificationRecord } from './notification-text.ts';
import { notificationText } from './notification-text.ts';

interface Shown {
  readonly notification: NotificationRecord;
  readonly attempts: readonly Attempt[];
}

interface ShowOptions {
  readonly id: string;
  readonly format: 'text' | 'json';
}

export async function showNotification(client: Client, { id, format }: ShowOptions): Promise<void> {
  const shown = await askedFor(client, encodeURIComponent(id));
  const { notification, attempts } = shown;
  process.stdout.write(
    format === 'json' ? `${JSON.stringify(shown, null, 2)}\n` : notificationText(notification, attempts),
  );
}

/** A main key lacks the scope to read attempts: then the record, which has the last one. */
async function askedFor(client: Client, id: string): Promise<Shown> {
  try {
    return await client.call<Shown>('GET', `/notifications/${id}/attempts`, 'reader');
  } catch (error) {
    if (!(error instanceof HeraldRefusal) || error.status !== 403 || client.token !== null) throw error;
    const { notification } = await client.call<{ readonly notification: NotificationRecord }>(
      'GET',
      `/notify/${id}`,
      'key',
    );
    return { notification, attempts: notification.attempts };
  }
}
