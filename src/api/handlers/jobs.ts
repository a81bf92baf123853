// Jobs: a whole batch cancelled or sent again, or whatever has failed; how far that is, and stopping it.

import { z } from 'zod';

import type { Commands } from '../../commands/index.ts';
import { notFound } from '../../domain/errors.ts';
import type { Job, JobKind } from '../../domain/job.ts';
import { jobRateMax, retryRateDefault } from '../../domain/job.ts';
import type { BatchId, JobId, TenantId } from '../../domain/ids.ts';
import { isBatchId, isJobId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import { traceContextOf } from '../../domain/trace-context.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { JobStore } from '../../ports/job-store.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import { getBatch } from '../../projections/notifications/batches.ts';
import type { NotificationFilter } from '../../projections/notifications/filter.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import { listNotifications } from '../../projections/notifications/queries.ts';
import type { Callers } from '../endpoint.ts';
import { endpoint } from '../endpoint.ts';
import type { OwnWrites } from '../own-writes.ts';
import { isoTimeOrNull } from '../record.ts';
import type { Answer } from '../respond.ts';
import { ok } from '../respond.ts';
import { failedFilter, filterOfFailed } from './notification-list.ts';

interface Dependencies {
  readonly commands: Pick<Commands, 'startJob' | 'stopJob'>;
  readonly jobs: Pick<JobStore, 'find'>;
  readonly reader: ReadModelReader;
  readonly log: Pick<EventLog, 'partitioning'>;
  readonly ownWrites: Pick<OwnWrites, 'follow'>;
  readonly clock: Clock;
}

/** So long a DELETE waits for the page in hand. */
const stopWaitMs = 2000;
const lookEveryMs = 100;

export function createJobHandlers({ commands, jobs, reader, log, ownWrites, clock }: Dependencies) {
  const found = async (tenantId: TenantId, { id = '' }: Readonly<Record<string, string>>): Promise<Job> => {
    const job = isJobId(id) ? await jobs.find(tenantId, id) : null;
    if (job === null) throw notFound('job');
    return job;
  };

  const batchOf = (tenantId: TenantId, id: BatchId) => getBatch(reader, tenantId, id, log.partitioning.partitions);

  /** What failed of a whole batch, its own counts say; a list counts no further than a page should take. */
  const countedOf = async (tenantId: TenantId, filter: NotificationFilter) => {
    const { batchId, status: _failed, ...others } = filter;
    if (batchId === undefined || Object.keys(others).length > 0)
      return listNotifications(reader, tenantId, filter, { limit: countedPageMax });
    const batch = await batchOf(tenantId, batchId);
    return { total: batch?.statusCounts.FAILED ?? 0, totalIsExact: true };
  };

  const ofBatch = (kind: JobKind, ratePerSecond: number, statuses: readonly Status[]) =>
    endpoint('bearerOrKey', {
      // What it is to find, the records have.
      awaits: ({ tenant }: Callers['bearerOrKey']) => ownWrites.follow(tenant.id, [notificationsReadModel]),
      async handle({ tenant }, { params: { id = '' }, headers }) {
        const batch = isBatchId(id) ? await batchOf(tenant.id, id) : null;
        if (batch === null) throw notFound('batch');
        const filter: NotificationFilter = { batchId: batch.batchId };
        const total = statuses.reduce((sum, status) => sum + batch.statusCounts[status], 0);
        const trace = traceContextOf(headers);
        return jobTaken(await commands.startJob({ tenantId: tenant.id, kind, filter, ratePerSecond, total, trace }));
      },
    });

  const retryMany = endpoint('bearer', {
    body: retrySchema,
    awaits: ({ tenant }) => ownWrites.follow(tenant.id, [notificationsReadModel]),
    async handle({ tenant }, { body, headers }) {
      const filter = filterOfFailed(body.filter);
      const { ratePerSecond, dryRun } = body;
      const { total, totalIsExact } = await countedOf(tenant.id, filter);
      const found = { matching: total, matchingIsExact: totalIsExact };
      if (dryRun) return { status: 202, body: { jobId: null, ...found } };
      // What is requested from now on isn't meant.
      const before: NotificationFilter = { ...filter, to: Math.min(filter.to ?? Infinity, clock.now() + 1) };
      const asked = { tenantId: tenant.id, filter: before, ratePerSecond, total, trace: traceContextOf(headers) };
      return jobTaken(await commands.startJob({ ...asked, kind: 'retry' }), found);
    },
  });

  const show = endpoint('bearerOrKey', {
    async handle({ tenant }, { params }) {
      return ok(shownJob(await found(tenant.id, params)));
    },
  });

  const stop = endpoint('bearerOrKey', {
    async handle({ tenant }, { params: { id = '' } }) {
      const asked = isJobId(id) ? await commands.stopJob(tenant.id, id) : null;
      if (asked === null) throw notFound('job');
      const until = clock.monotonic() + stopWaitMs;
      let job = asked;
      while (job.endedAt === null && clock.monotonic() < until) {
        await clock.sleep(lookEveryMs);
        job = await found(tenant.id, { id });
      }
      return ok(shownJob(job));
    },
  });

  return {
    cancelBatch: ofBatch('cancel', jobRateMax, ['SCHEDULED', 'RETRYING']),
    retryBatch: ofBatch('retry', retryRateDefault, ['FAILED']),
    retryMany,
    show,
    stop,
  };
}

/** Of a search at least those of its first page are counted. */
const countedPageMax = 100;

const retrySchema = z.strictObject({
  filter: failedFilter,
  ratePerSecond: z
    .int()
    .min(1)
    .max(jobRateMax)
    .default(retryRateDefault)
    .describe('So many are sent again a second, at most.'),
  dryRun: z.boolean().default(false).describe('true: they are counted, and nothing is sent.'),
});

export function jobTaken(jobId: JobId, more: object = {}): Answer {
  return { status: 202, body: { jobId, ...more }, headers: { location: `/api/v1/jobs/${jobId}` } };
}

function shownJob({ id, kind, state, total, done, skipped, failed, startedAt, endedAt }: Job) {
  const counts = { total, done, skipped, failed };
  return { id, kind, state, ...counts, startedAt: isoTimeOrNull(startedAt), endedAt: isoTimeOrNull(endedAt) };
}
