// What the dashboard's stream says of one event, cut down to what is told: events hold whole bodies, and many may wait.

import type { NotificationEvent } from '../domain/events.ts';
import { isNotificationEvent } from '../domain/events.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { NotificationFacts } from '../domain/notification.ts';
import type { StatusChange } from '../domain/status-change.ts';
import { lastChangeOf, statusChangeOf } from '../domain/status-change.ts';
import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry, Position } from '../ports/event-log.ts';
import { recordTopics } from '../projections/notifications/index.ts';
import { isoTime } from './record.ts';

export interface Told {
  readonly notificationId: NotificationId;
  readonly change: StatusChange;
  /** What is told, JSON: made once for all who listen. */
  readonly json: string;
}

/** About 500 bytes; with a long error 2 KiB. */
export interface Announcement extends Position, Told {
  readonly tenantId: TenantId;
  readonly appendedAt: number;
}

/** A part of the log. */
export interface Slot {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** null: nobody's status changes by it. */
export function announcementOf({ event, topic, partition, offset, appendedAt }: LogEntry): Announcement | null {
  if (event === null || !isNotificationEvent(event)) return null;
  const change = statusChangeOf(event);
  if (change === null) return null;
  const { tenantId, notificationId } = event;
  return { topic, partition, offset, appendedAt, tenantId, notificationId, change, json: jsonOf(event, change) };
}

/** What its record says by now, where the event that led to it isn't at hand. */
export function presentAnnouncementOf(facts: NotificationFacts): Told {
  const change = lastChangeOf(facts);
  const { id: notificationId, channel, recipient, updatedAt: occurredAt } = facts;
  return { notificationId, change, json: jsonOf({ notificationId, channel, recipient, occurredAt }, change) };
}

function jsonOf(
  {
    notificationId,
    channel,
    recipient,
    occurredAt,
  }: Pick<NotificationEvent, 'notificationId' | 'channel' | 'recipient' | 'occurredAt'>,
  { status, error }: StatusChange,
): string {
  return JSON.stringify({ notificationId, status, channel, recipient, error, timestamp: isoTime(occurredAt) });
}

/** What these parts have of the tenant, in the order of time. */
export async function readAnnouncements(
  log: Pick<EventLog, 'read'>,
  tenantId: TenantId,
  slots: readonly Slot[],
): Promise<Announcement[]> {
  const found: Announcement[] = [];
  for (const slot of slots) {
    for await (const entry of log.read(slot)) {
      if (entry.head?.tenantId !== tenantId) continue;
      const announcement = announcementOf(entry);
      if (announcement !== null) found.push(announcement);
    }
  }
  return inOrderOfTime(found);
}

const topicOrder = new Map(recordTopics.map((topic, i) => [topic, i]));

/**
 * As the log took them, topics that are read side by side put together; of one millisecond work before outcomes. What came in the order of its partition
 * stays in it, also where its time goes back (another broker leads it, whose clock is behind): until it has caught up, it counts as what was before it.
 */
export function inOrderOfTime(announcements: readonly Announcement[]): Announcement[] {
  const latest = new Map<string, number>();
  const timed = announcements.map((one) => {
    const place = `${one.topic} ${one.partition}`;
    const at = Math.max(one.appendedAt, latest.get(place) ?? 0);
    latest.set(place, at);
    return { one, at };
  });
  return timed
    .toSorted((a, b) => a.at - b.at || (topicOrder.get(a.one.topic) ?? 0) - (topicOrder.get(b.one.topic) ?? 0))
    .map(({ one }) => one);
}
