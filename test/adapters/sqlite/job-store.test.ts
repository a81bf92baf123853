// The SQLite store of jobs: the contract, what a restart makes of what ran, and that it forgets.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { openJobStore } from '../../../src/adapters/sqlite/jobs/store.ts';
import { endedJobsKeptMs } from '../../../src/domain/job.ts';
import type { JobId } from '../../../src/domain/ids.ts';
import { jobStoreContract, storedJob } from '../../contracts/job-store.ts';

jobStoreContract('SQLite', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'herald-jobs-'));
  const store = openJobStore({ path: join(dir, 'jobs.db'), logId: 'log-1' });
  return {
    store,
    other: store,
    async close() {
      await store.close();
      rmSync(dir, { recursive: true });
    },
  };
});

describe('SQLite: a store of jobs', () => {
  let dir: string;
  const open = (logId = 'log-1') => openJobStore({ path: join(dir, 'jobs.db'), logId });
  const job = storedJob('1');
  const start = job.createdAt;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'herald-jobs-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('opened again gives what its former process ran to the next at once, with its mark', async () => {
    const before = open();
    await before.add(job);
    const running = await before.claim(start, start + 20_000);
    await before.close();
    const store = open();
    expect(await store.claim(start + 1, start + 20_001)).toEqual({
      ...running,
      epoch: 2,
      leaseUntil: start + 20_001,
    });
    await store.close();
  });

  it('opened again after days counts none of them for a job that does not come on', async () => {
    const before = open();
    await before.add(job);
    await before.claim(start, start + 20_000);
    await before.close();
    const later = start + 20_000 + 2 * 24 * 3_600_000;
    await open().close();
    const store = open();
    expect(await store.claim(later, later + 20_000)).toMatchObject({ movedAt: later - 20_000, epoch: 2 });
    await store.close();
  });

  it('knows nothing of another log’s jobs', async () => {
    const before = open();
    await before.add(job);
    await before.close();
    const store = open('log-2');
    expect(await store.find(job.tenantId, job.id)).toBeNull();
    expect(await store.claim(start, start + 1)).toBeNull();
    await store.close();
  });

  it('forgets what has been over for a week, and nothing that isn’t over', async () => {
    const store = open();
    await store.add(storedJob('open'));
    await store.askStop(job.tenantId, 'job_open' as JobId, start);
    await store.add(storedJob('old'));
    const there = async (name: string) => (await store.find(job.tenantId, `job_${name}` as JobId)) !== null;
    await store.add(storedJob('new', { createdAt: start + endedJobsKeptMs - 1 }));
    expect(await there('open')).toBe(true);
    await store.add(storedJob('newer', { createdAt: start + endedJobsKeptMs }));
    expect([await there('open'), await there('old'), await there('new')]).toEqual([false, true, true]);
    await store.close();
  });
});
