// Asks a job to stop: at once where it hasn't begun, else once the page in hand is finished.

import type { Job } from '../domain/job.ts';
import type { JobId, TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';

interface Dependencies {
  readonly jobs: Pick<JobStore, 'askStop'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** null: the tenant has no such job. One that is over stays as it is. @throws DomainError SERVICE_UNAVAILABLE */
export function stopJob({ jobs, clock }: Dependencies) {
  return (tenantId: TenantId, id: JobId): Promise<Job | null> => jobs.askStop(tenantId, id, clock.now());
}
