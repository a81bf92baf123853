// Where an event goes: its topic and its partition number. Forever, once a log exists.

import { assertNever } from './assert-never.ts';
import type { Channel, DomainEvent, Priority } from './events.ts';
import { channels, priorities } from './events.ts';
import type { BatchId, NotificationId, TenantId } from './ids.ts';
import { murmur2 } from './murmur.ts';

export type Topic = string & { readonly __topic?: never };

export const deliveriesTopic: Topic = 'notifications.deliveries';
export const inboxTopic: Topic = 'notifications.inbox';
export const settingsTopic: Topic = 'notifications.settings';
export const deadLettersTopic: Topic = 'notifications.dead-letters';
/** What was forgotten, and what is kept of it: it stays longer than the rest. */
export const retentionTopic: Topic = 'notifications.retention';

/** The work topic of a channel and a priority: a slow channel or a flood of bulk shares no partition with anything else. */
export function workTopic(channel: Channel, priority: Priority): Topic {
  return `notifications.${channel.toLowerCase().replace('_', '-')}.${priority.toLowerCase()}`;
}

export const workTopics: readonly Topic[] = channels.flatMap((channel) =>
  priorities.map((priority) => workTopic(channel, priority)),
);

/** Of what somebody waits for at the moment: a password reset, a code. */
export const highTopics: readonly Topic[] = channels.map((channel) => workTopic(channel, 'HIGH'));

export const allTopics: readonly Topic[] = [
  ...workTopics,
  deliveriesTopic,
  inboxTopic,
  settingsTopic,
  deadLettersTopic,
  retentionTopic,
];

const workTopicOf = new Map(
  channels.map((channel) => [channel, new Map(priorities.map((p) => [p, workTopic(channel, p)]))]),
);

export function topicOf(event: DomainEvent): Topic {
  switch (event.type) {
    case 'NotificationRequested':
    case 'DeliveryDue':
    case 'RetryRequested':
      return workTopicOf.get(event.channel)?.get(event.priority) ?? workTopic(event.channel, event.priority);
    case 'DeliveryDeferred':
    case 'AttemptStarted':
    case 'AttemptSucceeded':
    case 'AttemptFailed':
    case 'CancelRequested':
    case 'NotificationCancelled':
    case 'ProviderReported':
    case 'BatchAccepted':
      return deliveriesTopic;
    case 'InboxRead':
      return inboxTopic;
    case 'SettingsChanged':
    case 'RecipientSuppressed':
    case 'RecipientReleased':
    case 'RecipientErased':
    case 'TenantErased':
      return settingsTopic;
    case 'NotificationsForgotten':
    case 'TenantForgotten':
      return retentionTopic;
    case 'DeadLettered':
      return deadLettersTopic;
    default:
      return assertNever(event);
  }
}

/** How a log spreads its events; recorded when the log is made, a change is refused. */
export interface Partitioning {
  readonly partitions: number;
  /** How many numbers one tenant's events are spread over. */
  readonly shards: number;
}

export const defaultPartitioning: Partitioning = { partitions: 12, shards: 2 };

/**
 * The partition number of a notification: hash("tenantId:shard") mod partitions, where shard is hash(notification id) mod shards;
 * for IN_APP the recipient takes the notification id's place, so that one owner sees all of an inbox. The hash is murmur2 (Kafka's).
 */
export function partitionOf(
  of: { tenantId: TenantId; channel: Channel; recipient: string; notificationId: NotificationId },
  by: Partitioning,
): number {
  return of.channel === 'IN_APP'
    ? inboxPartition(of.tenantId, of.recipient, by)
    : partitionOfKey(of.tenantId, of.notificationId, by);
}

export function inboxPartition(tenantId: TenantId, recipient: string, by: Partitioning): number {
  return partitionOfKey(tenantId, recipient, by);
}

/** Of what is said of a whole batch: one of the numbers of its tenant. */
export function batchPartition(tenantId: TenantId, batchId: BatchId, by: Partitioning): number {
  return partitionOfKey(tenantId, batchId, by);
}

/** All that is said of one recipient's suppression, in its order. */
export function suppressionPartition(tenantId: TenantId, recipient: string, by: Partitioning): number {
  return partitionOfKey(tenantId, recipient, by);
}

/** The numbers that a tenant's notifications can have, ascending, each once. */
export function partitionsOfTenant(tenantId: TenantId, by: Partitioning): number[] {
  return [...new Set(numbersByShard(tenantId, by))].sort((a, b) => a - b);
}

/** Each partition that may hold something of a tenant, in the order in which an erasure reads them: a job's mark and what it was told of ends go by it. */
export function placesInLog(
  tenantId: TenantId,
  by: Partitioning,
): readonly { readonly topic: Topic; readonly partition: number }[] {
  const numbers = partitionsOfTenant(tenantId, by);
  return allTopics.flatMap((topic) => numbers.map((partition) => ({ topic, partition })));
}

function partitionOfKey(tenantId: TenantId, key: string, by: Partitioning): number {
  return knownNumbers(tenantId, by)[murmur2(key) % by.shards] ?? 0;
}

/** Of a tenant some 150 bytes; more are forgotten all at once, and found again by what they are asked for. */
const knownMax = 10_000;
let known = { by: defaultPartitioning, numbers: new Map<TenantId, readonly number[]>() };

/** Every event asks for its tenant's: two hashes are a hundredth of what accepting one takes. */
function knownNumbers(tenantId: TenantId, by: Partitioning): readonly number[] {
  if (known.by !== by || known.numbers.size > knownMax) known = { by, numbers: new Map() };
  const before = known.numbers.get(tenantId);
  if (before !== undefined) return before;
  const numbers = numbersByShard(tenantId, by);
  known.numbers.set(tenantId, numbers);
  return numbers;
}

function numbersByShard(tenantId: TenantId, { partitions, shards }: Partitioning): readonly number[] {
  return Array.from({ length: shards }, (_, shard) => murmur2(`${tenantId}:${shard}`) % partitions);
}
