// Leases that end too late to be over by the clock here: whoever took them had one that was ahead. He may be at work, and prolongs them then; or have ended,
// and by their time nobody would go on for as long as his clock was wrong.

import { clocksDifferMs } from '../domain/lease.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobLease, JobStore, StoredJob } from '../ports/job-store.ts';
import { leaseMs } from './limits.ts';

export interface AbandonedLeases {
  /** A job whose lease stood still for as long as one lasts; null: there is none, or it isn't time to look. Rejects when the store is away. */
  claim(): Promise<StoredJob | null>;
}

/** Nearly always none is found, by an index. */
const lookEveryMs = 5_000;

export function createAbandonedLeases({
  jobs,
  clock,
}: {
  readonly jobs: Pick<JobStore, 'leasesAfter' | 'claimFrom'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}): AbandonedLeases {
  /** By job: since when, monotonic, it has the lease that it has. */
  let seen = new Map<string, JobLease & { readonly since: number }>();
  let lookedAt = -Infinity;

  return {
    async claim() {
      const at = clock.monotonic();
      if (at - lookedAt < lookEveryMs) return null;
      lookedAt = at;
      const now = clock.now();
      const leases = await jobs.leasesAfter(now + leaseMs + clocksDifferMs);
      const before = seen;
      seen = new Map(
        leases.map((lease) => {
          const known = before.get(lease.id);
          return [lease.id, known?.leaseUntil === lease.leaseUntil ? known : { ...lease, since: at }];
        }),
      );
      for (const lease of seen.values()) {
        const claimed = at - lease.since > leaseMs ? await jobs.claimFrom(lease, now, now + leaseMs) : null;
        if (claimed !== null) return claimed;
      }
      return null;
    },
  };
}
