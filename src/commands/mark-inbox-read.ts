// Marks in-app items of one recipient as read.

import type { EventId, NotificationId, TenantId } from '../domain/ids.ts';
import { uuidText } from '../domain/ids.ts';
import { inboxPartition } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { appendDurably } from './append.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

export interface InboxReadInput {
  readonly tenantId: TenantId;
  readonly recipient: string;
  /** 1 to 5,000, what an InboxRead holds: those that were unread when the caller looked. */
  readonly notificationIds: readonly NotificationId[];
}

/** @throws DomainError SERVICE_UNAVAILABLE */
export function markInboxRead({ log, clock }: Dependencies) {
  return ({ tenantId, recipient, notificationIds }: InboxReadInput): Promise<Position> =>
    appendDurably(
      log,
      {
        type: 'InboxRead',
        eventId: uuidText(clock.uuidV7()) as EventId,
        occurredAt: clock.now(),
        tenantId,
        traceparent: null,
        recipient,
        partition: inboxPartition(tenantId, recipient, log.partitioning),
        notificationIds,
      },
      'The reading',
    );
}
