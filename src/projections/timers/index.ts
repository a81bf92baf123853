// The read model `timers`: which notifications wait for a time to come, for the scheduler, which decides what becomes of them.

import type { EventType } from '../../domain/events.ts';
import { isNotificationEvent } from '../../domain/events.ts';
import { deliveriesTopic, workTopics } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import type { ReadModel } from '../read-model.ts';
import type { TimersDocument } from './document.ts';
import { mergeTimerEvent, timersCollection } from './document.ts';

export const timersReadModel: ReadModel = {
  definition: { name: 'timers', collections: [timersCollection] },
  topics: [...workTopics, deliveriesTopic],
  types: new Set<EventType>([
    'DeliveryDeferred',
    'AttemptFailed',
    'AttemptSucceeded',
    'CancelRequested',
    'NotificationCancelled',
    'DeliveryDue',
  ]),
  async fold(entries, reader) {
    const ids = new Set<string>();
    for (const { event } of entries) if (isNotificationEvent(event)) ids.add(event.notificationId);
    const stored = await reader.get<TimersDocument>(timersCollection.name, [...ids]);
    const documents = new Map<string, TimersDocument>();
    for (const { event } of entries) {
      if (!isNotificationEvent(event)) continue;
      const { notificationId } = event;
      const before = documents.get(notificationId) ?? stored.get(notificationId) ?? null;
      const after = mergeTimerEvent(before, event);
      // Most notifications are delivered at once and never have a timer: nothing is kept of them.
      if (after !== null) documents.set(notificationId, after);
    }
    return [...documents].map(([id, document]): Write => {
      return { collection: timersCollection.name, id, document, isNew: !stored.has(id) };
    });
  },
};
