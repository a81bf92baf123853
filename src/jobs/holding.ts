// A job in the hands of its owner: what he writes of it, and what he waits for.

import type { Job, JobState } from '../domain/job.ts';
import { filterOnceOver } from '../domain/job.ts';
import type { TenantId } from '../domain/ids.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { JobStore, StoredJob } from '../ports/job-store.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { waitForPosition } from '../projections/wait.ts';
import { leaseMs, prolongEveryMs, recordsWaitMs, turnMs } from './limits.ts';

export interface HoldingDependencies {
  readonly jobs: Pick<JobStore, 'save'>;
  readonly log: Pick<EventLog, 'ends' | 'partitioning'>;
  readonly reader: ReadModelReader;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Each write throws StaleOwnerError when somebody else has the job. */
export function holdingOf({ jobs, log, reader, clock, signal }: HoldingDependencies) {
  const save = (job: StoredJob): Promise<StoredJob> => jobs.save({ ...job, leaseUntil: clock.now() + leaseMs });

  /** Of all of the tenant's numbers the last position that the log has. */
  const endsOf = async (tenantId: TenantId): Promise<Position[]> => {
    const numbers = partitionsOfTenant(tenantId, log.partitioning);
    const ofTopics = notificationsReadModel.topics.map(async (topic) => {
      const ends = await log.ends(topic, numbers);
      return numbers.map((partition) => ({ topic, partition, offset: (ends[partition] ?? 0) - 1 }));
    });
    return (await Promise.all(ofTopics)).flat();
  };

  /** Since when it hasn't moved stays as it was: what always fails is given up in the end. */
  const prolong = async (job: StoredJob, until: AbortSignal): Promise<void> => {
    for (;;) {
      await clock.sleep(prolongEveryMs, until);
      if (until.aborted) return;
      await save(job);
    }
  };

  return {
    /** As it is, under a lease that begins anew. */
    save,
    moved: (job: StoredJob): StoredJob => ({ ...job, movedAt: clock.now() }),
    over(job: StoredJob, state: JobState): Promise<StoredJob> {
      const endedAt = clock.now();
      const filter = filterOnceOver(job);
      return jobs.save({ ...job, filter, state, endedAt, movedAt: endedAt, turnAt: endedAt, leaseUntil: null });
    },
    /**
     * Does what may take longer than a lease, which is prolonged meanwhile. Answers false where the signal has ended it since the process stops; where the lease
     * can't be prolonged, it is ended and this rejects with why.
     */
    async prolonging(job: StoredJob, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
      const [over, lost] = [new AbortController(), new AbortController()];
      const prolonged = prolong(job, over.signal).catch((error: unknown) => lost.abort(error));
      try {
        await work(AbortSignal.any([signal, lost.signal]));
        return true;
      } catch (error) {
        if (!lost.signal.aborted && signal.aborted) return false;
        throw lost.signal.aborted ? lost.signal.reason : error;
      } finally {
        over.abort();
        await prolonged;
      }
    },
    giveWay: (job: StoredJob): Promise<StoredJob> =>
      jobs.save({ ...job, state: 'queued', turnAt: clock.now(), leaseUntil: null }),
    /**
     * Until the records have all that the log had of the tenant: what a former owner has done shows there. For a turn at most; what they lack then stays in
     * the mark, and later turns only look for that: of records that stay behind an end that is asked for anew is never reached.
     */
    async whenRecorded(job: StoredJob): Promise<StoredJob> {
      const { tenantId, epoch, mark } = job;
      const { next, planned, awaited } = mark;
      const known = awaited?.epoch === epoch - 1 ? awaited.positions : null;
      const lacking = [...(known ?? (await endsOf(tenantId)))];
      const until = clock.monotonic() + (known === null ? turnMs : 0);
      let held = job;
      for (let last = lacking[0]; last !== undefined; last = lacking[0]) {
        const waitMs = Math.max(0, Math.min(recordsWaitMs, until - clock.monotonic()));
        if (await waitForPosition({ reader, clock }, notificationsReadModel, { ...last, tenantId }, waitMs)) {
          lacking.shift();
          continue;
        }
        const end = (await log.ends(last.topic, [last.partition]))[last.partition] ?? 0;
        // Of a log that was put back from an earlier time: what it has is all that can be recorded.
        if (end <= last.offset) {
          lacking[0] = { ...last, offset: end - 1 };
          continue;
        }
        held = await save(held);
        const isNothingToCount = held.isStopAsked && planned.length === 0;
        if (isNothingToCount || signal.aborted || clock.monotonic() >= until) break;
      }
      const lacks = lacking.length === 0 ? {} : { awaited: { epoch, positions: lacking } };
      return { ...held, mark: { next, planned, ...lacks } };
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
