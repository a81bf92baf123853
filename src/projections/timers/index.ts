// The read model `timers`: which notifications wait for a time to come, for the scheduler, which decides what becomes of them.

import { isErased } from '../../domain/erasure.ts';
import type { EventType } from '../../domain/events.ts';
import { isNotificationEvent } from '../../domain/events.ts';
import { deliveriesTopic, retentionTopic, settingsTopic, workTopics } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import type { ReadModel } from '../read-model.ts';
import type { TimersDocument } from './document.ts';
import { mergeTimerEvent, timersCollection } from './document.ts';
import { erasedTimers } from './erased.ts';

export const timersReadModel: ReadModel = {
  definition: { name: 'timers', collections: [timersCollection] },
  topics: [...workTopics, deliveriesTopic, retentionTopic, settingsTopic],
  types: new Set<EventType>([
    'DeliveryDeferred',
    'AttemptFailed',
    'AttemptSucceeded',
    'CancelRequested',
    'NotificationCancelled',
    'DeliveryDue',
    'NotificationsForgotten',
    'RecipientErased',
    'TenantErased',
    'TenantForgotten',
  ]),
  async fold(entries, reader) {
    const ids = new Set<string>();
    for (const { event } of entries) {
      if (isNotificationEvent(event)) ids.add(event.notificationId);
      if (
        event.type === 'NotificationsForgotten' ||
        event.type === 'RecipientErased' ||
        event.type === 'TenantForgotten'
      )
        for (const id of event.notificationIds) ids.add(id);
    }
    const stored = await reader.get<TimersDocument>(timersCollection.name, [...ids]);
    /** null: forgotten. */
    const documents = new Map<string, TimersDocument | null>();
    for (const { event } of entries) {
      if (event.type === 'NotificationsForgotten') for (const id of event.notificationIds) documents.set(id, null);
      if (event.type === 'RecipientErased' || event.type === 'TenantForgotten') {
        for (const id of event.notificationIds) {
          const document = documents.get(id) ?? (documents.has(id) ? undefined : stored.get(id));
          if (document?.tenantId !== event.tenantId) continue;
          documents.set(id, event.type === 'TenantForgotten' ? null : erasedTimers(document));
        }
      }
      if (!isNotificationEvent(event)) continue;
      const { notificationId } = event;
      const known = documents.get(notificationId);
      const before = known === undefined ? (stored.get(notificationId) ?? null) : known;
      const merged = mergeTimerEvent(before, event);
      const after = merged !== null && (isErased(event) || isErased(merged)) ? erasedTimers(merged) : merged;
      // Most notifications are delivered at once and never have a timer: nothing is kept of them.
      if (after !== null) documents.set(notificationId, after);
    }
    return [...documents].flatMap(([id, document]): Write[] => {
      const isNew = !stored.has(id);
      return isNew && document === null ? [] : [{ collection: timersCollection.name, id, document, isNew }];
    });
  },
};
