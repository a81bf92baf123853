// Takes a job on: whichever process runs jobs finds it.

import { DomainError } from '../domain/errors.ts';
import type { JobKind } from '../domain/job.ts';
import { openJobsMax } from '../domain/job.ts';
import type { JobId, TenantId } from '../domain/ids.ts';
import { jobIdOf } from '../domain/ids.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';

interface Dependencies {
  readonly jobs: Pick<JobStore, 'add'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

export interface AskedJob {
  readonly tenantId: TenantId;
  readonly kind: JobKind;
  /** As lists of records are asked for. */
  readonly filter: object;
  readonly ratePerSecond: number;
  /** How many there are now. */
  readonly total: number;
  readonly trace: TraceContext;
}

/** @throws DomainError CONFLICT, SERVICE_UNAVAILABLE */
export function startJob({ jobs, clock }: Dependencies) {
  return async (asked: AskedJob): Promise<JobId> => {
    const id = jobIdOf(clock.uuidV7());
    const now = clock.now();
    const isAdded = await jobs.add({
      ...asked,
      id,
      state: 'queued',
      done: 0,
      skipped: 0,
      failed: 0,
      createdAt: now,
      startedAt: null,
      endedAt: null,
      movedAt: now,
      mark: { next: { kind: 'first' }, planned: [] },
      isStopAsked: false,
      turnAt: now,
      epoch: 0,
      leaseUntil: null,
    });
    if (isAdded) return id;
    throw new DomainError(
      'CONFLICT',
      `A tenant has at most ${openJobsMax} jobs that are not over: wait for one, or stop one.`,
    );
  };
}
