// Where in the log a tenant's events can be: which topics an event type goes to, and the tenant's partition numbers in them.

import type { EventType } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Partitioning, Topic } from '../domain/topics.ts';
import { deliveriesTopic, inboxTopic, partitionsOfTenant, settingsTopic, workTopics } from '../domain/topics.ts';

/** A dead letter is an operator's, its bytes are of whoever wrote them; so is the book that retention keeps. */
export type HistoryType = Exclude<
  EventType,
  'DeadLettered' | 'NotificationsForgotten' | 'TenantErased' | 'TenantForgotten'
>;

/** As `topicOf` sends them. */
const topicsOfType: Readonly<Record<HistoryType, readonly Topic[]>> = {
  NotificationRequested: workTopics,
  DeliveryDue: workTopics,
  RetryRequested: workTopics,
  DeliveryDeferred: [deliveriesTopic],
  AttemptStarted: [deliveriesTopic],
  AttemptSucceeded: [deliveriesTopic],
  AttemptFailed: [deliveriesTopic],
  CancelRequested: [deliveriesTopic],
  NotificationCancelled: [deliveriesTopic],
  ProviderReported: [deliveriesTopic],
  BatchAccepted: [deliveriesTopic],
  InboxRead: [inboxTopic],
  SettingsChanged: [settingsTopic],
  RecipientSuppressed: [settingsTopic],
  RecipientReleased: [settingsTopic],
  RecipientErased: [settingsTopic],
};

export const historyTypes = Object.keys(topicsOfType) as HistoryType[];

/** A partition of a topic. */
export interface Slot {
  readonly topic: Topic;
  readonly partition: number;
}

const historyTopics: readonly Topic[] = [...workTopics, deliveriesTopic, inboxTopic, settingsTopic];

/** All that a tenant's history is read from, in an order that cursors rely on. */
export function slotsOf(tenantId: TenantId, partitioning: Partitioning): readonly Slot[] {
  const partitions = partitionsOfTenant(tenantId, partitioning);
  return historyTopics.flatMap((topic) => partitions.map((partition) => ({ topic, partition })));
}

export function canHold({ topic }: Slot, type: HistoryType): boolean {
  return topicsOfType[type].includes(topic);
}
