// The events as they were: one row for each event of the log, at its position.

import { isNotificationEvent } from '../../domain/events.ts';
import type { LogEntry } from '../../ports/event-log.ts';
import type { Row, Table } from '../columns.ts';

export const eventsTable: Table = {
  name: 'events',
  about: 'One event of the log, as it was appended. `topic`, `partition` and `offset` together name it for good.',
  day: 'appendedAt',
  tenant: 'tenantId',
  columns: [
    { name: 'topic', kind: 'text', about: 'The topic of the log.' },
    { name: 'partition', kind: 'integer', about: 'Its partition number.' },
    { name: 'offset', kind: 'integer', about: 'The place in the partition, ascending from 0.' },
    { name: 'appendedAt', kind: 'timestamp', about: 'When the log took it.' },
    { name: 'type', kind: 'text', about: 'The event type; null for bytes that do not decode.' },
    { name: 'eventId', kind: 'text', about: 'The same for an event that was appended again.' },
    { name: 'occurredAt', kind: 'timestamp', about: 'When it happened.' },
    { name: 'tenantId', kind: 'text', about: 'Whose it is.' },
    { name: 'traceparent', kind: 'text', about: 'W3C trace context of the request that began it.' },
    { name: 'notificationId', kind: 'text', about: 'The notification, for events of one.' },
    { name: 'requestedAt', kind: 'timestamp', about: 'When the notification was accepted.' },
    { name: 'channel', kind: 'text', about: 'EMAIL, SMS, WEBHOOK or IN_APP.' },
    { name: 'priority', kind: 'text', about: 'HIGH, DEFAULT or BULK.' },
    { name: 'recipient', kind: 'text', about: 'Whom it is for.' },
    { name: 'round', kind: 'integer', about: '1 for the request, one more for each retry by hand.' },
    { name: 'payload', kind: 'json', about: 'All else that the event says; times in it are UTC milliseconds.' },
    { name: 'undecodable', kind: 'text', about: 'Why the bytes do not decode; null for all that do.' },
  ],
};

export function eventRow(entry: LogEntry): Row {
  const { topic, partition, offset, appendedAt, event } = entry;
  if (event === null) {
    const { head, undecodable } = entry;
    const none = [null, null, null, null, null, null, null] as const;
    const known = [null, head?.eventId ?? null, null, head?.tenantId ?? null] as const;
    return [topic, partition, offset, appendedAt, ...known, ...none, null, undecodable?.reason ?? null];
  }
  if (isNotificationEvent(event)) {
    const { type, eventId, occurredAt, tenantId, traceparent, partition: _, ...ofNotification } = event;
    const { notificationId, requestedAt, channel, priority, recipient, round, ...rest } = ofNotification;
    const payload = JSON.stringify(rest);
    const about = [notificationId, requestedAt, channel, priority, recipient, round, payload, null] as const;
    return [topic, partition, offset, appendedAt, type, eventId, occurredAt, tenantId, traceparent, ...about];
  }
  // A dead letter names the partition that it comes from; elsewhere it is this very one.
  const { type, eventId, occurredAt, tenantId, traceparent, ...rest } = event;
  const notificationId = 'notificationId' in event ? event.notificationId : null;
  const channel = 'channel' in event ? event.channel : null;
  const recipient = 'recipient' in event ? event.recipient : null;
  const about = [notificationId, null, channel, null, recipient, null, JSON.stringify(rest), null] as const;
  return [topic, partition, offset, appendedAt, type, eventId, occurredAt, tenantId, traceparent, ...about];
}
