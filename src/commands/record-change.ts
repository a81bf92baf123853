// The audit of settings: who changed what and when, appended after the change stands. It never fails the change.

import type { SettingsChanged } from '../domain/events.ts';
import type { EventId, TenantId } from '../domain/ids.ts';
import { uuidText } from '../domain/ids.ts';
import { inboxPartition } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';

export interface AuditDependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly directory: Pick<TenantDirectory, 'forget'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7' | 'sleep'>;
  readonly logger: Pick<Logger, 'error'>;
}

export interface Change extends Pick<SettingsChanged, 'tenantId' | 'subject' | 'subjectId' | 'action'> {
  /** The `sub` of the token. */
  readonly actor: string;
}

/** Who asks for a change, and of which tenant. */
export interface Author {
  readonly tenantId: TenantId;
  readonly actor: string;
}

const triesMax = 3;
const pauseMs = 50;

/** In force on this node from here on, and on record. An audit that can't be appended is a line of the log, since the change can't be taken back. */
export async function recordChange(
  { log, directory, clock, logger }: AuditDependencies,
  change: Change,
): Promise<void> {
  directory.forget(change.tenantId);
  const event: SettingsChanged = {
    type: 'SettingsChanged',
    eventId: uuidText(clock.uuidV7()) as EventId,
    occurredAt: clock.now(),
    traceparent: null,
    partition: inboxPartition(change.tenantId, change.subjectId, log.partitioning),
    ...change,
  };
  for (let tried = 1; ; tried++) {
    const result = await log.append(event);
    if (result.kind === 'durable') return;
    if (tried === triesMax)
      return logger.error('a change of settings is not in the audit', { ...change, reason: result.reason });
    await clock.sleep(pauseMs);
  }
}
