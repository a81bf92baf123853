// Long work that a tenant asks for in one call: what it is, how far it is, and how much of it there may be.
//
//   queued <──turns──> running ──> done
//      └──── stop ────────┴──────> stopped          (failed: it has not come on for `stuckMaxMs`)

import type { JobId, TenantId } from './ids.ts';
import type { TraceContext } from './trace-context.ts';

export const jobKinds = ['cancel', 'retry', 'erase'] as const;
export type JobKind = (typeof jobKinds)[number];

export const jobStates = ['queued', 'running', 'done', 'stopped', 'failed'] as const;
export type JobState = (typeof jobStates)[number];

/** How many of its notifications came to what; those of the page in hand aren't in it. */
export interface JobCounts {
  readonly done: number;
  /** It was too late for it, or it was not to be done any more. */
  readonly skipped: number;
  readonly failed: number;
}

export interface Job extends JobCounts {
  readonly id: JobId;
  readonly tenantId: TenantId;
  readonly kind: JobKind;
  /** Which notifications: plain JSON, as lists of records are asked for (projections/notifications/filter.ts); of an erasure whom, sealed. Nothing once it is over. */
  readonly filter: object;
  readonly ratePerSecond: number;
  /** Of the request for it. */
  readonly trace: TraceContext;
  readonly state: JobState;
  /** So many there were when it was asked for. */
  readonly total: number;
  /** UTC ms, all of them. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When it came on last. */
  readonly movedAt: number;
}

/** The filter of an erasure of all of its tenant. */
export const wholeTenant = { isWholeTenant: true } as const;

/** Whether a job of kind `erase` is about all of its tenant. */
export function isOfWholeTenant({ filter }: Pick<Job, 'filter'>): boolean {
  return 'isWholeTenant' in filter;
}

/** Whom it was about is nobody's concern any more. A tenant's own erasure says no more than that, and is told from its other jobs by it. */
export function filterOnceOver(job: Pick<Job, 'filter'>): object {
  return isOfWholeTenant(job) ? job.filter : {};
}

/** A tenant's jobs that aren't over: one runs, the others wait for it. */
export const openJobsMax = 10;
/** Of those that are over the newest so many are shown, for a week: 500 of 1 KiB. */
export const endedJobsMax = 500;
export const endedJobsKeptMs = 7 * 24 * 60 * 60 * 1000;

/** What is sent again comes at so many a second unless its job says otherwise; a tenant's own requests come at 10 by default. */
export const retryRateDefault = 100;
/** A tenth of what one process takes and folds. A cancel, which sends nothing, comes at it. */
export const jobRateMax = 500;
