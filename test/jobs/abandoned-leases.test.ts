// Leases of a clock that was ahead: taken over from whoever has ended, never from whoever is at work.

import { beforeEach, describe, expect, it } from '@jest/globals';

import type { JobId } from '../../src/domain/ids.ts';
import { clocksDifferMs } from '../../src/domain/lease.ts';
import { createAbandonedLeases } from '../../src/jobs/abandoned-leases.ts';
import { leaseMs } from '../../src/jobs/limits.ts';
import type { JobLease, StoredJob } from '../../src/ports/job-store.ts';
import { storedJob } from '../contracts/job-store.ts';

const start = 1_800_000_000_000;
const id = 'job_1' as JobId;
let at: number;
let leases: JobLease[];
let looks: number;
let asked: number[];

beforeEach(() => {
  [at, looks, leases, asked] = [0, 0, [], []];
});

const abandoned = createAbandonedLeasesHere();

function createAbandonedLeasesHere() {
  const jobs = {
    leasesAfter: async (time: number) => {
      looks++;
      asked.push(time);
      return leases;
    },
    claimFrom: async (lease: JobLease): Promise<StoredJob | null> =>
      leases.some(({ leaseUntil }) => leaseUntil === lease.leaseUntil) ? storedJob('1') : null,
  };
  return () => createAbandonedLeases({ jobs, clock: { now: () => start + at, monotonic: () => at } });
}

/** Looks twice a second, as who runs jobs does; answers after how many ms it had one. */
async function claimedAfter(ms: number, meanwhile: () => void = () => undefined): Promise<number | null> {
  const of = abandoned();
  for (; at <= ms; at += 500) {
    meanwhile();
    if ((await of.claim()) !== null) return at;
  }
  return null;
}

describe('a lease that ends too late to be over', () => {
  it('is taken over once it has stood still for as long as one lasts', async () => {
    leases = [{ id, leaseUntil: start + 7_200_000 }];
    const after = await claimedAfter(60_000);
    expect(after).toBeGreaterThan(leaseMs);
    expect(after).toBeLessThanOrEqual(leaseMs + 10_000);
  });

  it('is left to whoever prolongs it, for however long', async () => {
    const prolonged = () => (leases = [{ id, leaseUntil: start + 7_200_000 + Math.floor(at / 15_000) }]);
    expect(await claimedAfter(600_000, prolonged)).toBeNull();
  });

  it('is asked for every 5 s, and only where clocks can not differ by as much', async () => {
    await claimedAfter(60_000);
    expect(looks).toBe(13);
    expect(asked[0]).toBe(start + leaseMs + clocksDifferMs);
  });
});
