// herald tail: each change of a notification's status, a line each, until it is stopped.

import type { Priority } from '../../domain/events.ts';
import type { Change, ChangeFilter, Format, Say } from './changes.ts';
import { changeLine, has, isWanted } from './changes.ts';
import type { Client } from './client.ts';
import { HeraldRefusal, patiently } from './client.ts';
import type { NotificationRecord } from './notification-text.ts';
import { polledChanges } from './polled-changes.ts';
import { streamedChanges } from './streamed-changes.ts';

interface TailOptions {
  readonly filter: ChangeFilter;
  readonly format: Format;
}

/** Runs until it is stopped. @throws StartError */
export async function tailChanges(client: Client, { filter, format }: TailOptions): Promise<void> {
  const say: Say = (sentence) => void process.stderr.write(`-- ${sentence}\n`);
  const priorityOf = createPriorities(client, say);
  const changes =
    client.token === null ? polledChanges(client, filter, say) : streamedChanges(client, client.token, say);
  for await (const change of changes) {
    if (!isWanted(filter, change)) continue;
    if (filter.priorities.length > 0 && !has<Priority | null>(filter.priorities, await priorityOf(change))) continue;
    process.stdout.write(changeLine(change, format));
  }
}

/** Of 100 bytes each. */
const rememberedMax = 10_000;

/** A change doesn't carry its notification's priority: the record does. null: it is gone. */
function createPriorities(client: Client, say: Say) {
  const remembered = new Map<string, Priority>();
  return async ({ notificationId: id }: Change): Promise<Priority | null> => {
    const known = remembered.get(id);
    if (known !== undefined) return known;
    try {
      const ask = () =>
        client.call<{ readonly notification: NotificationRecord }>('GET', `/notifications/${id}`, 'reader');
      const { notification } = await patiently(ask, Infinity, say);
      const [oldest] = remembered.keys();
      if (remembered.size >= rememberedMax && oldest !== undefined) remembered.delete(oldest);
      remembered.set(id, notification.priority);
      return notification.priority;
    } catch (error) {
      if (error instanceof HeraldRefusal && error.status === 404) return null;
      throw error;
    }
  };
}
