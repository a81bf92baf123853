// The read model `notifications_2`: every notification as a record, and the statistics over the records.

import { isNotificationEvent } from '../../domain/events.ts';
import type { NotificationFacts } from '../../domain/notification.ts';
import { mergeEvent } from '../../domain/notification.ts';
import { deliveriesTopic, workTopics } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import { withShortTexts } from '../cut-documents.ts';
import type { DecodedEntry, ReadModel } from '../read-model.ts';
import type { NotificationDocument } from './document.ts';
import { notificationsCollection, toDocument } from './document.ts';
import { batchesCollection, createBatchChanges } from './batches.ts';
import { createReportChanges, reportCellsCollection, reportsCollection } from './reports.ts';
import { createStatisticsChanges, statisticsCollection } from './statistics-cells.ts';

/** `notifications_2`, since it replaced one that didn't know what had failed, by whom and when; see `inbox_2`. */
export const notificationsReadModel: ReadModel = {
  definition: {
    name: 'notifications_2',
    collections: [
      notificationsCollection,
      statisticsCollection,
      batchesCollection,
      reportsCollection,
      reportCellsCollection,
    ],
  },
  topics: [...workTopics, deliveriesTopic],
  reportsDeadLetters: true,
  async fold(entries, reader) {
    const ids = new Set<string>();
    for (const { event } of entries) if (isNotificationEvent(event)) ids.add(event.notificationId);
    const stored = await reader.get<NotificationDocument>(notificationsCollection.name, [...ids]);
    const statistics = createStatisticsChanges();
    const batches = createBatchChanges();
    const reports = createReportChanges();
    for (const { event } of entries) {
      if (event.type === 'BatchAccepted') batches.accepted(event);
      if (event.type === 'ProviderReported') reports.told(event);
    }
    const writes: Write[] = [];
    for (const [id, facts] of merged(entries, stored)) {
      const document = toDocument(facts);
      const before = stored.get(id) ?? null;
      writes.push({ collection: notificationsCollection.name, id, document, isNew: before === null });
      statistics.move(before, document);
      batches.move(before, document);
    }
    for (const write of await statistics.writes(reader)) writes.push(write);
    for (const write of await batches.writes(reader)) writes.push(write);
    for (const write of await reports.writes(reader)) writes.push(write);
    return writes;
  },
  shortened: (document) => ({ ...withShortTexts(document), isCut: true }),
};

function merged(
  entries: readonly DecodedEntry[],
  stored: ReadonlyMap<string, NotificationFacts>,
): Map<string, NotificationFacts> {
  const facts = new Map<string, NotificationFacts>();
  for (const { event } of entries) {
    if (!isNotificationEvent(event)) continue;
    const { notificationId } = event;
    facts.set(notificationId, mergeEvent(facts.get(notificationId) ?? stored.get(notificationId) ?? null, event));
  }
  return facts;
}
