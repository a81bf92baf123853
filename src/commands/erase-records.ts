// Erases the notifications of these records, and asks for what of them waits to be cancelled.

import type { NotificationFacts } from '../domain/notification.ts';
import { statusOf } from '../domain/notification.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { cancelNotification } from './cancel-notification.ts';
import { eraseNotifications } from './erase-notifications.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
}

export interface ErasedRecords {
  readonly tenantId: TenantId;
  readonly actor: string | null;
  /** All of the tenant, a page of them: at most 1,000 (`erasedIdsMax`). */
  readonly records: readonly NotificationFacts[];
  readonly traceparent: string | null;
}

/** Where that is said: once a read model has these, it shows nothing of them. Once more it changes nothing. @throws DomainError SERVICE_UNAVAILABLE */
export function eraseRecords(deps: Dependencies) {
  const erase = eraseNotifications(deps);
  const cancel = cancelNotification(deps);

  /** What is in its lane its dispatcher ends. */
  const cancelWaiting = async (record: NotificationFacts, traceparent: string | null): Promise<void> => {
    const status = statusOf(record);
    if (status !== 'SCHEDULED' && status !== 'RETRYING') return;
    await cancel(record, traceparent);
  };

  return async ({ tenantId, actor, records, traceparent }: ErasedRecords): Promise<readonly Position[]> => {
    const byPartition = Map.groupBy(records, ({ partition }) => partition);
    const positions = await Promise.all(
      [...byPartition].map(([partition, some]) =>
        erase({ tenantId, actor, partition, notificationIds: some.map(({ id }) => id), eventIds: [] }),
      ),
    );
    await Promise.all(records.map((record) => cancelWaiting(record, traceparent)));
    return positions;
  };
}
