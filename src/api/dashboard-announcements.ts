// What the dashboard's stream says of one event, cut down to what is told: events hold whole bodies, and many may wait.

import { isNotificationEvent } from '../domain/events.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { StatusChange } from '../domain/status-change.ts';
import { statusChangeOf } from '../domain/status-change.ts';
import type { LogEntry, Position } from '../ports/event-log.ts';
import { recordTopics } from '../projections/notifications/index.ts';
import { isoTime } from './record.ts';

/** About 500 bytes; with a long error 2 KiB. */
export interface Announcement extends Position {
  readonly tenantId: TenantId;
  readonly notificationId: NotificationId;
  readonly appendedAt: number;
  readonly change: StatusChange;
  /** What is told, JSON: made once for all who listen. */
  readonly json: string;
}

/** null: nobody's status changes by it. */
export function announcementOf({ event, topic, partition, offset, appendedAt }: LogEntry): Announcement | null {
  if (event === null || !isNotificationEvent(event)) return null;
  const change = statusChangeOf(event);
  if (change === null) return null;
  const { tenantId, notificationId, channel, recipient, occurredAt } = event;
  const { status, error } = change;
  const data = { notificationId, status, channel, recipient, error, timestamp: isoTime(occurredAt) };
  return { topic, partition, offset, appendedAt, tenantId, notificationId, change, json: JSON.stringify(data) };
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
