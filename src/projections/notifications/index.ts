// The read model `notifications_2`: every notification as a record, and the statistics over the records.

import { erasedFacts } from '../../domain/erasure.ts';
import type { NotificationsForgotten, TenantForgotten } from '../../domain/events.ts';
import { isNotificationEvent } from '../../domain/events.ts';
import type { NotificationFacts } from '../../domain/notification.ts';
import { mergeEvent } from '../../domain/notification.ts';
import { deliveriesTopic, retentionTopic, settingsTopic, workTopics } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import { withShortTexts } from '../cut-documents.ts';
import { forgottenCollection, lastForgotten, lastWrite, linked } from './forgetting.ts';
import { keptWrites } from './kept-days.ts';
import type { DecodedEntry, FoldReader, ReadModel } from '../read-model.ts';
import type { CellDeltas } from './cell-deltas.ts';
import type { NotificationDocument } from './document.ts';
import { notificationsCollection, toDocument } from './document.ts';
import { batchesCollection, createBatchChanges } from './batches.ts';
import { createReportChanges, reportCellsCollection, reportsCollection } from './reports.ts';
import { moveStatistics, statisticsCollection, statisticsWrites } from './statistics-cells.ts';

/** Where a record's status changes. */
export const recordTopics = [...workTopics, deliveriesTopic];

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
      forgottenCollection,
    ],
  },
  topics: [...recordTopics, retentionTopic, settingsTopic],
  reportsDeadLetters: true,
  foldsOthersAhead: true,
  async fold(entries, reader) {
    const forgetting = await forgettingIn(entries, reader);
    const ids = new Set<string>();
    for (const { event } of entries) {
      if (isNotificationEvent(event)) ids.add(event.notificationId);
      if (event.type === 'RecipientErased' || event.type === 'TenantForgotten')
        for (const id of event.notificationIds) ids.add(id);
    }
    for (const { notificationIds } of forgetting.events) for (const id of notificationIds) ids.add(id);
    const stored = await reader.get<NotificationDocument>(notificationsCollection.name, [...ids]);
    const statistics: CellDeltas = new Map();
    const batches = createBatchChanges();
    const reports = createReportChanges();
    for (const { event } of entries) {
      if (event.type === 'BatchAccepted') batches.accepted(event);
      if (event.type === 'ProviderReported') reports.told(event);
      if (event.type === 'RecipientErased')
        for (const notificationId of event.notificationIds)
          reports.erased({ tenantId: event.tenantId, notificationId });
      if (event.type !== 'TenantForgotten' && !isCounting(event, forgetting.events)) continue;
      const { tenantId } = event;
      for (const notificationId of event.notificationIds) reports.forgotten({ tenantId, notificationId });
      for (const batchId of event.batchIds) batches.forgotten(batchId);
    }
    const writes: Write[] = [];
    for (const [id, facts] of merged(entries, stored, forgetting.events)) {
      const document = facts === null ? null : toDocument(facts);
      const before = stored.get(id) ?? null;
      if (before === null && document === null) continue;
      writes.push({ collection: notificationsCollection.name, id, document, isNew: before === null });
      moveStatistics(statistics, before, document);
      batches.move(before, document);
    }
    for (const write of await statisticsWrites(statistics, reader)) writes.push(write);
    for (const write of await batches.writes(reader)) writes.push(write);
    for (const write of await reports.writes(reader)) writes.push(write);
    return [...writes, ...forgetting.writes];
  },
  shortened: (document) => ({ ...withShortTexts(document), isCut: true }),
};

/** Of these entries those that count, and what is written for them beside the documents that go. */
async function forgettingIn(
  entries: readonly DecodedEntry[],
  reader: FoldReader,
): Promise<{ readonly events: ReadonlySet<NotificationsForgotten>; readonly writes: readonly Write[] }> {
  const events: NotificationsForgotten[] = [];
  const ofTenants: (TenantForgotten & { readonly kept: readonly [] })[] = [];
  for (const { event } of entries) {
    if (event.type === 'NotificationsForgotten') events.push(event);
    if (event.type === 'TenantForgotten') ofTenants.push({ ...event, kept: [] });
  }
  const [first] = events;
  if (first === undefined) return { events: new Set(), writes: await keptWrites(ofTenants, reader) };
  const { counting, last } = linked(await lastForgotten(reader, first.partition), events);
  const kept = await keptWrites([...counting, ...ofTenants], reader);
  return { events: new Set(counting), writes: last === null ? kept : [...kept, lastWrite(first.partition, last)] };
}

function isCounting(
  event: DecodedEntry['event'],
  counting: ReadonlySet<NotificationsForgotten>,
): event is NotificationsForgotten {
  return event.type === 'NotificationsForgotten' && counting.has(event);
}

/** By id; null: forgotten. */
function merged(
  entries: readonly DecodedEntry[],
  stored: ReadonlyMap<string, NotificationFacts>,
  forgetting: ReadonlySet<NotificationsForgotten>,
): Map<string, NotificationFacts | null> {
  const facts = new Map<string, NotificationFacts | null>();
  for (const { event } of entries) {
    if (event.type === 'NotificationsForgotten' && forgetting.has(event))
      for (const id of event.notificationIds) facts.set(id, null);
    if (event.type === 'RecipientErased' || event.type === 'TenantForgotten') {
      for (const id of event.notificationIds) {
        const before = facts.get(id) ?? (facts.has(id) ? undefined : stored.get(id));
        if (before?.tenantId !== event.tenantId) continue;
        facts.set(id, event.type === 'TenantForgotten' ? null : erasedFacts(before));
      }
    }
    if (!isNotificationEvent(event)) continue;
    const { notificationId } = event;
    const known = facts.get(notificationId);
    facts.set(notificationId, mergeEvent(known === undefined ? (stored.get(notificationId) ?? null) : known, event));
  }
  return facts;
}
