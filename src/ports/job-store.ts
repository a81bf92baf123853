// Jobs and how far each is: a document with a mark, written by the one process that holds its lease, under the lease's epoch.
//
//   add ──> queued ──claim──> running ──save, a page at a time──> done | stopped | failed ──a week──> forgotten
//             ^──save (its turn is over)──┘  its process ended: whoever claims after `leaseUntil` goes on from the mark

import { clocksDifferMs } from '../domain/lease.ts';
import type { Job } from '../domain/job.ts';
import type { JobId, NotificationId, TenantId } from '../domain/ids.ts';
import type { Position } from './event-log.ts';
import type { FieldValue } from './read-model-store.ts';

export { StaleOwnerError } from './event-log.ts';

/** One notification that is about to be worked on, in the round that it had when it was found. */
export interface PlannedNotification {
  readonly id: NotificationId;
  readonly round: number;
}

/** Where a list goes on. */
export type ListMark =
  | { readonly kind: 'first' }
  | { readonly kind: 'after'; readonly key: readonly FieldValue[] }
  /** Of an erasure, behind the records: which partition of the log, and from which offset on; there what every read model is to have before it goes on. */
  | { readonly kind: 'log'; readonly place: number; readonly offset: number; readonly awaited?: readonly Position[] }
  | { readonly kind: 'end' };

export interface JobMark {
  /** Behind what is planned. */
  readonly next: ListMark;
  /** The page in hand: what of it is done the records tell, not the mark. */
  readonly planned: readonly PlannedNotification[];
  /** What the records lacked still when a turn, of that epoch, had waited for them. Whoever claims the job next waits for the same. */
  readonly awaited?: { readonly epoch: number; readonly positions: readonly Position[] };
}

export interface StoredJob extends Job {
  readonly mark: JobMark;
  /** Asked while it ran, or was to go on: whoever holds it ends it. */
  readonly isStopAsked: boolean;
  /** UTC ms: since when a queued one waits for its turn. An order alone: the clock may have been set back since. */
  readonly turnAt: number;
  /** Raised by each claim. */
  readonly epoch: number;
  /** UTC ms until when nobody else claims a running one; null: it doesn't run. */
  readonly leaseUntil: number | null;
}

/**
 * UTC ms since when a running job counts as not coming on, for whoever has it next: `movedAt`, later by the time since its lease ended where that is so long
 * that nobody can have tried: there was no process for it, or the clock was set.
 */
export function stillSince({ movedAt, leaseUntil }: Pick<StoredJob, 'movedAt' | 'leaseUntil'>, now: number): number {
  const untriedMs = now - (leaseUntil ?? now);
  return untriedMs > clocksDifferMs ? movedAt + untriedMs : movedAt;
}

/** Until when a running job is its owner's, UTC ms by the owner's clock: another time with each save. */
export interface JobLease {
  readonly id: JobId;
  readonly leaseUntil: number;
}

/** What of the jobs of all tenants should come on. */
export interface StandingJobs {
  /** Those that run, 100 at most. */
  readonly running: readonly Pick<Job, 'id' | 'movedAt'>[];
  /** How many wait for their turn, and of which nobody would claim another one first; null: none can be claimed. */
  readonly queued: number;
  readonly head: JobId | null;
}

/** Every call rejects with an Error when the store is away; then it may have written all the same. */
export interface JobStore {
  /** False, nothing stored: its tenant has `openJobsMax` that aren't over. Exactly, of any number at once. */
  add(job: StoredJob): Promise<boolean>;
  /** null: the tenant has none of this id, or it is forgotten. */
  find(tenantId: TenantId, id: JobId): Promise<StoredJob | null>;
  /** Those of a tenant that aren't over, `openJobsMax` at most, in any order. */
  listOpen(tenantId: TenantId): Promise<readonly StoredJob[]>;
  /** One that hasn't begun is stopped at once, one that has by its owner, or by the next. What is over stays as it is. */
  askStop(tenantId: TenantId, id: JobId, now: number): Promise<StoredJob | null>;
  /**
   * The job to go on with, running under a new epoch: one whose lease is over (it hasn't come on by that, but for the time in which nobody tried: `stillSince`), else the queued one whose tenant has waited longest and has none running.
   * At once by several each gets another one. null: there is none.
   */
  claim(now: number, leaseUntil: number): Promise<StoredJob | null>;
  /** Those of running jobs that end after `time`, 100 at most: of a clock that was ahead, or is. */
  leasesAfter(time: number): Promise<readonly JobLease[]>;
  /** As `claim`, of the job whose lease it still is; null: whoever runs it has prolonged it, or has ended. */
  claimFrom(lease: JobLease, now: number, leaseUntil: number): Promise<StoredJob | null>;
  /**
   * In place of what is stored, but for `isStopAsked`, which is as it was asked meanwhile: resolves with what is stored then. When it doesn't run any
   * more, its tenant's queued ones go behind those of others. @throws StaleOwnerError when it runs under another epoch, or not at all
   */
  save(job: StoredJob): Promise<StoredJob>;
  standing(): Promise<StandingJobs>;
  /** Removes all of the tenant's but those of this very filter, over or not; whoever runs one finds it gone with the next write. */
  removeAllBut(tenantId: TenantId, filter: StoredJob['filter']): Promise<void>;
  close(): Promise<void>;
}
