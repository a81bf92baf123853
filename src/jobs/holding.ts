// A job in the hands of its owner: what he writes of it, and what he waits for.

import { isOfWholeTenant } from '../commands/erase-tenant.ts';
import type { Job, JobState } from '../domain/job.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { JobStore, StoredJob } from '../ports/job-store.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { waitForPosition } from '../projections/wait.ts';
import { leaseMs, recordsWaitMs } from './limits.ts';

export interface HoldingDependencies {
  readonly jobs: Pick<JobStore, 'save'>;
  readonly log: Pick<EventLog, 'ends' | 'partitioning'>;
  readonly reader: ReadModelReader;
  readonly clock: Clock;
}

/** Each write throws StaleOwnerError when somebody else has the job. */
export function holdingOf({ jobs, log, reader, clock }: HoldingDependencies) {
  const save = (job: StoredJob): Promise<StoredJob> => jobs.save({ ...job, leaseUntil: clock.now() + leaseMs });

  return {
    /** As it is, under a lease that begins anew. */
    save,
    moved: (job: StoredJob): StoredJob => ({ ...job, movedAt: clock.now() }),
    over(job: StoredJob, state: JobState): Promise<StoredJob> {
      const endedAt = clock.now();
      // Whom it was about is nobody's concern any more. A tenant's own erasure says no more than that, and is told from its other jobs by it.
      const filter = isOfWholeTenant(job) ? job.filter : {};
      return jobs.save({ ...job, filter, state, endedAt, movedAt: endedAt, turnAt: endedAt, leaseUntil: null });
    },
    giveWay: (job: StoredJob): Promise<StoredJob> =>
      jobs.save({ ...job, state: 'queued', turnAt: clock.now(), leaseUntil: null }),
    /** Until the records have all that the log had of the tenant: what a former owner has done shows there. */
    async whenRecorded(job: StoredJob): Promise<StoredJob> {
      let held = job;
      for (const topic of notificationsReadModel.topics) {
        const ends = await log.ends(topic);
        for (const partition of partitionsOfTenant(job.tenantId, log.partitioning)) {
          const last = { tenantId: job.tenantId, topic, partition, offset: (ends[partition] ?? 0) - 1 };
          while (!(await waitForPosition({ reader, clock }, notificationsReadModel, last, recordsWaitMs)))
            held = await save(held);
        }
      }
      return held;
    },
  };
}

/** What is planned is what these came to, and the plan is empty. */
export function withCounts(
  job: StoredJob,
  { done, skipped, failed }: Pick<Job, 'done' | 'skipped' | 'failed'>,
): StoredJob {
  return { ...job, done, skipped, failed, mark: { ...job.mark, planned: [] } };
}
