// Says that a recipient is forgotten: of the notifications and events that it names nothing is shown any more, by whoever reads the log.

import { DomainError } from '../domain/errors.ts';
import { isErased } from '../domain/erasure.ts';
import type { EventId, NotificationId, TenantId } from '../domain/ids.ts';
import { eventIdFrom } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { appendDurably } from './append.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
}

export interface Erased {
  readonly tenantId: TenantId;
  readonly actor: string | null;
  /** The number of all that is named. */
  readonly partition: number;
  /** At most `erasedIdsMax` of either. */
  readonly notificationIds: readonly NotificationId[];
  readonly eventIds: readonly EventId[];
}

/** The same once more changes nothing: its id follows from what it names. @throws DomainError SERVICE_UNAVAILABLE */
export function eraseNotifications({ log, clock }: Dependencies) {
  return (erased: Erased): Promise<Position> => {
    const { tenantId, partition, notificationIds, eventIds } = erased;
    const eventId = eventIdFrom('erased', tenantId, partition, ...notificationIds, ...eventIds);
    const envelope = { eventId, occurredAt: clock.now(), traceparent: null };
    return appendDurably(log, { type: 'RecipientErased', ...envelope, ...erased }, 'The erasure');
  };
}

/** @throws DomainError CONFLICT: there is nobody left whom it could be sent to */
export function refuseErased(facts: { readonly recipient: string }): void {
  if (isErased(facts)) throw new DomainError('CONFLICT', 'The recipient of this notification is erased.');
}
