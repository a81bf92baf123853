// Jobs under the watchdog's eye: one that runs and doesn't come on, and a queue that nobody takes from, stand still; those that wait for their turn don't.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createMetrics } from '../../src/adapters/node/metrics.ts';
import { openJobStore } from '../../src/adapters/sqlite/jobs/store.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { JobStore, StoredJob } from '../../src/ports/job-store.ts';
import { jobsFeed } from '../../src/watch/feeds.ts';
import { createStandstill } from '../../src/watch/standstill.ts';
import type { Feed } from '../../src/watch/watchdog.ts';
import { storedJob } from '../contracts/job-store.ts';

const lookEveryMs = 5_000;
const leaseMs = 600_000;

let dir: string;
let store: JobStore;
let isAway: boolean;
let look: () => Promise<string[]>;
let page: () => Promise<string>;
let now: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'herald-jobs-'));
  store = openJobStore({ path: join(dir, 'jobs.db'), logId: 'log-1' });
  isAway = false;
  now = storedJob('1').createdAt;
  const metrics = createMetrics({ processMetrics: false });
  page = () => metrics.read();
  const feed: Feed = jobsFeed({
    jobs: { standing: async () => (isAway ? Promise.reject(new Error('away')) : store.standing()) },
    metrics,
  });
  const standstill = createStandstill(30_000);
  const asking = { within: <T>(asked: Promise<T>) => asked.catch(() => null), ends: async () => null };
  look = async () => {
    now += lookEveryMs;
    return standstill.look(lookEveryMs, await feed.look(asking)).map(({ part }) => part);
  };
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** What stands still after 30 s. */
async function after30s(each: () => Promise<unknown> = async () => null): Promise<string[]> {
  let standing: string[] = [];
  for (let i = 0; i < 8; i++) {
    await each();
    standing = await look();
  }
  return standing;
}
const claimed = async (): Promise<StoredJob> => {
  const job = await store.claim(now, now + leaseMs);
  if (job === null) throw new Error('there is one');
  return job;
};

describe('jobs', () => {
  it('none, and those that come on, do not stand still', async () => {
    expect(await after30s()).toEqual([]);
    await store.add(storedJob('1'));
    let job = await claimed();
    const comeOn = async () => {
      job = await store.save({ ...job, movedAt: now });
    };
    expect(await after30s(comeOn)).toEqual([]);
    expect(await page()).toContain('herald_jobs{state="running"} 1');
  });

  it('one that runs and does not come on stands still, its lease prolonged or not, until it does', async () => {
    await store.add(storedJob('1'));
    let job = await claimed();
    const prolong = async () => {
      job = await store.save({ ...job, leaseUntil: now + leaseMs });
    };
    expect(await after30s(prolong)).toEqual(['job_1']);
    await store.save({ ...job, movedAt: now });
    expect(await look()).toEqual([]);
  });

  it('a queue that nobody takes from stands still, but not one that moves, and not what waits for its tenant’s other job', async () => {
    await store.add(storedJob('1'));
    expect(await after30s()).toEqual(['queue']);
    await store.add(storedJob('2'));
    let job = await claimed();
    const turn = async () => {
      job = await store.save({ ...job, movedAt: now });
    };
    expect(await after30s(turn)).toEqual([]);
    await store.add(storedJob('of-b', { tenantId: 'tnt_b' as TenantId, turnAt: now }));
    await store.add(storedJob('of-c', { tenantId: 'tnt_c' as TenantId, turnAt: now }));
    const takeTurns = async () => {
      await turn();
      const other = await claimed();
      await store.save({ ...other, state: 'queued', turnAt: now, leaseUntil: null });
    };
    expect(await after30s(takeTurns)).toEqual([]);
    expect(await page()).toContain('herald_jobs{state="queued"} 3');
  });

  it('a store that does not answer is a standstill', async () => {
    isAway = true;
    expect(await after30s()).toEqual(['queue']);
    isAway = false;
    expect(await look()).toEqual([]);
  });
});
