// A work event on its way through the dispatcher: which attempt it asks for, since when it could be made, and where it is to be marked finished.

import { assertNever } from '../domain/assert-never.ts';
import type { DomainEvent, EventType, WorkEvent } from '../domain/events.ts';
import type { PartitionTracker } from './read-ahead.ts';

/** Where an item was read, and when among all that this dispatcher has read. */
export interface Place {
  /** Over: its items are not begun any more. */
  number: { readonly isOver: boolean };
  tracker: PartitionTracker;
  offset: number;
  /** As it is held. */
  bytes: number;
  /** Counts up with each item that is read. */
  readonly order: number;
}

export interface WorkItem extends Place {
  readonly event: WorkEvent;
  /** Attempt numbers go on over the rounds; the retry table counts from the round's first. */
  readonly attempt: number;
  readonly firstAttempt: number;
  /** UTC ms since when it could have been sent. */
  readonly dueAt: number;
}

/** Its outcome is durable (or it needs none): its offset counts as finished. */
export function finishItem(item: WorkItem): void {
  const { event, offset, bytes } = item;
  item.tracker.finish({ tenantId: event.tenantId, offset, bytes });
}

/** How long ago the oldest of them could have been sent; 0 when there is none. */
export function ageMs(items: Iterable<WorkItem>, now: number): number {
  let oldest = now;
  for (const { dueAt } of items) oldest = Math.min(oldest, dueAt);
  return now - oldest;
}

/** The item was read again, since its number was lost and regained: it counts for the place where it was read last. */
export function moveItem(item: WorkItem, to: WorkItem): void {
  item.number = to.number;
  item.tracker = to.tracker;
  item.offset = to.offset;
  item.bytes = to.bytes;
}

export function isWork({ type }: { readonly type: EventType }): boolean {
  return type === 'NotificationRequested' || type === 'DeliveryDue' || type === 'RetryRequested';
}

export function isWorkEvent(event: DomainEvent): event is WorkEvent {
  return isWork(event);
}

export function workItemOf(event: WorkEvent, place: Place): WorkItem {
  switch (event.type) {
    case 'NotificationRequested':
      return { event, attempt: 1, firstAttempt: 1, dueAt: event.requestedAt, ...place };
    case 'DeliveryDue':
      return {
        event,
        attempt: event.attempt,
        firstAttempt: event.firstAttempt,
        dueAt: event.dueAt,
        ...place,
      };
    case 'RetryRequested':
      return {
        event,
        attempt: event.attempt,
        firstAttempt: event.attempt,
        dueAt: event.occurredAt,
        ...place,
      };
    default:
      return assertNever(event);
  }
}
