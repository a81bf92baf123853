// A tenant is erased: the log says so, in each of its numbers, and what the stores have of it goes. What the read models have of it goes by name.

import type { BatchId, NotificationId, TenantId, JobId } from '../domain/ids.ts';
import { eventIdFrom, jobIdOf } from '../domain/ids.ts';
import { wholeTenant } from '../domain/job.ts';
import { noTrace } from '../domain/trace-context.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { IdempotencyStore } from '../ports/idempotency-store.ts';
import type { JobStore, StoredJob } from '../ports/job-store.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { appendDurably } from './append.ts';

export interface EraseTenantDependencies {
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly settings: Pick<SettingsStore, 'eraseTenant'>;
  readonly idempotency: Pick<IdempotencyStore, 'removeTenant'>;
  readonly jobs: Pick<JobStore, 'add' | 'removeAllBut'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

/** Where that is said: whoever has read it meets nothing of the tenant any more. Once more it changes nothing. @throws DomainError SERVICE_UNAVAILABLE; Error when a store is away */
export function eraseTenant({ log, clock, ...stores }: EraseTenantDependencies) {
  const emptyStores = emptyStoresOf(stores);
  return async (tenantId: TenantId): Promise<readonly Position[]> => {
    const positions: Position[] = [];
    for (const partition of partitionsOfTenant(tenantId, log.partitioning)) {
      const envelope = { eventId: eventIdFrom('tenant-erased', tenantId, partition), occurredAt: clock.now() };
      const event = { type: 'TenantErased', ...envelope, tenantId, traceparent: null, partition, actor: null } as const;
      positions.push(await appendDurably(log, event, 'The erasure'));
    }
    await emptyStores(tenantId);
    return positions;
  };
}

/** Of all that they have of a tenant but the work of erasing it. @throws Error when a store is away */
export function emptyStoresOf({ settings, idempotency, jobs }: Omit<EraseTenantDependencies, 'log' | 'clock'>) {
  return async (tenantId: TenantId): Promise<void> => {
    // Its keys end with this, everywhere within the seconds in which others hear of it.
    await settings.eraseTenant(tenantId);
    await jobs.removeAllBut(tenantId, wholeTenant);
    await idempotency.removeTenant(tenantId);
  };
}

/**
 * Takes the work on, before anything is said: whoever is killed after it is followed by another. Asked for twice it is done twice, one after the other: whoever
 * is about to end one of them must not end the other as well. `total`: so many notifications there are at least. null: as many wait as may. @throws Error when the
 * store is away
 */
export function startTenantErasure({ jobs, clock }: Pick<EraseTenantDependencies, 'jobs' | 'clock'>) {
  return async (tenantId: TenantId, total: number): Promise<JobId | null> => {
    const [id, now] = [jobIdOf(clock.uuidV7()), clock.now()];
    const counts = { total, done: 0, skipped: 0, failed: 0 };
    const times = { createdAt: now, movedAt: now, turnAt: now, startedAt: null, endedAt: null, leaseUntil: null };
    const mark = { next: { kind: 'log', place: 0, offset: 0 }, planned: [] } as const;
    const of = { id, tenantId, kind: 'erase', filter: wholeTenant, ratePerSecond: 1, trace: noTrace } as const;
    const job: StoredJob = { ...of, ...counts, ...times, state: 'queued', mark, isStopAsked: false, epoch: 0 };
    // Whatever else it had to do is nothing any more, and makes room; but only where it has to: else a recipient's erasure would be lost with it.
    if (await jobs.add(job)) return id;
    await jobs.removeAllBut(tenantId, wholeTenant);
    return (await jobs.add(job)) ? id : null;
  };
}

/** What goes from the read models; each at most 1,000. */
export interface ForgottenOfTenant {
  readonly tenantId: TenantId;
  readonly partition: number;
  readonly notificationIds: readonly NotificationId[];
  readonly batchIds: readonly BatchId[];
  /** UTC ms. */
  readonly endedDays: readonly number[];
}

/** @throws DomainError SERVICE_UNAVAILABLE */
export function forgetOfTenant({ log, clock }: Pick<EraseTenantDependencies, 'log' | 'clock'>) {
  return (forgotten: ForgottenOfTenant): Promise<Position> => {
    const { tenantId, partition, notificationIds, batchIds, endedDays } = forgotten;
    const eventId = eventIdFrom('tenant-forgotten', tenantId, partition, ...notificationIds, ...batchIds, ...endedDays);
    const envelope = { eventId, occurredAt: clock.now(), traceparent: null };
    return appendDurably(log, { type: 'TenantForgotten', ...envelope, ...forgotten }, 'The erasure');
  };
}
