// What every store of jobs promises; each adapter runs this suite.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { JobId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import { endedJobsMax, openJobsMax } from '../../src/domain/job.ts';
import { clocksDifferMs } from '../../src/domain/lease.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { JobStore, StoredJob } from '../../src/ports/job-store.ts';
import { StaleOwnerError } from '../../src/ports/job-store.ts';

export interface JobStoreHarness {
  readonly store: JobStore;
  /** Another process' store of the same data, or the same one where there can be but one. */
  readonly other: JobStore;
  close(): Promise<void>;
}

/** Of today: a store may remove by its own clock what has ended long ago. */
const start = Math.floor(Date.now() / 3_600_000) * 3_600_000;
const leaseMs = 20_000;

export const storedJob = (name: string, of: Partial<StoredJob> = {}): StoredJob => ({
  id: `job_${name}` as JobId,
  tenantId: 'tnt_a' as TenantId,
  kind: 'retry',
  filter: { batchId: 'batch_1' },
  ratePerSecond: 100,
  trace: noTrace,
  state: 'queued',
  total: 10,
  done: 0,
  skipped: 0,
  failed: 0,
  createdAt: start,
  startedAt: null,
  endedAt: null,
  movedAt: start,
  mark: { next: { kind: 'first' }, planned: [] },
  isStopAsked: false,
  turnAt: start,
  epoch: 0,
  leaseUntil: null,
  ...of,
});

const ofTenant = (name: string): Pick<StoredJob, 'tenantId'> => ({ tenantId: `tnt_${name}` as TenantId });

export function jobStoreContract(name: string, open: () => Promise<JobStoreHarness>): void {
  describe(`${name}: a store of jobs`, () => {
    let harness: JobStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.close());

    const add = async (...jobs: readonly StoredJob[]) => {
      for (const job of jobs) expect(await harness.store.add(job)).toBe(true);
    };
    const claim = (at: number) => harness.store.claim(at, at + leaseMs);
    const claimed = async (at: number): Promise<StoredJob> => {
      const job = await claim(at);
      if (job === null) throw new Error('there is one to be claimed');
      return job;
    };
    const ended = (job: StoredJob, at: number): StoredJob => ({
      ...job,
      state: 'done',
      endedAt: at,
      turnAt: at,
      leaseUntil: null,
    });

    it('lists what of a tenant is not over, whether it runs or waits, and nothing of others', async () => {
      const { store, other } = harness;
      await add(storedJob('over'), storedJob('runs', { turnAt: start + 1 }), storedJob('waits', { turnAt: start + 2 }));
      await add(storedJob('theirs', { ...ofTenant('b'), turnAt: start + 3 }));
      await store.save(ended(await claimed(start), start + 1));
      await claimed(start + 2);
      await claimed(start + 2);
      const open = await other.listOpen('tnt_a' as TenantId);
      expect(new Map(open.map(({ id, state }) => [id, state]))).toEqual(
        new Map([
          ['job_runs', 'running'],
          ['job_waits', 'queued'],
        ]),
      );
      expect(open.find(({ id }) => id === 'job_waits')).toEqual(
        await store.find('tnt_a' as TenantId, 'job_waits' as JobId),
      );
      expect(await other.listOpen('tnt_c' as TenantId)).toEqual([]);
    });

    it('keeps a job as it is, whatever its filter’s names are, for its tenant alone', async () => {
      const { store, other } = harness;
      const job = storedJob('1', {
        filter: { metadata: { 'order.no': '1', $where: 'x' }, words: ['a'] },
        trace: { traceparent: '00-1', tracestate: null, baggage: 'a=b' },
        mark: {
          next: { kind: 'after', key: [1, null, 'notif_2'] },
          planned: [{ id: 'notif_1' as NotificationId, round: 3 }],
        },
      });
      await store.add(job);
      expect(await other.find(job.tenantId, job.id)).toEqual(job);
      expect(await other.find('tnt_b' as TenantId, job.id)).toBeNull();
      expect(await other.askStop('tnt_b' as TenantId, job.id, start)).toBeNull();
      expect(await store.find(job.tenantId, job.id)).toEqual(job);
    });

    it('takes as many that are not over as a tenant may have, exactly, of all who come at once', async () => {
      const { store, other } = harness;
      const jobs = Array.from({ length: 3 * openJobsMax }, (_, i) => storedJob(`${i}`));
      const added = await Promise.all(jobs.map((job, i) => (i % 2 === 0 ? store : other).add(job)));
      expect(added.filter((isAdded) => isAdded)).toHaveLength(openJobsMax);
      expect(await store.add(storedJob('of-another', ofTenant('b')))).toBe(true);
      const one = await claimed(start);
      await store.save(ended(one, start + 1));
      const again = await Promise.all([store.add(storedJob('next')), other.add(storedJob('after-next'))]);
      expect(again.filter((isAdded) => isAdded)).toHaveLength(1);
    });

    it('gives each to one of all who claim at once, and of a tenant one at a time', async () => {
      const { store, other } = harness;
      for (const tenant of ['a', 'b', 'c'])
        await add(...[1, 2].map((i) => storedJob(`${tenant}${i}`, { ...ofTenant(tenant) })));
      const stores = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? store : other));
      const got: (StoredJob | null)[] = await Promise.all(stores.map((one) => one.claim(start, start + leaseMs)));
      // One that meets another leaves it until it looks again.
      for (let i = 0; i < 3; i++) got.push(await claim(start));
      const jobs = got.filter((job) => job !== null);
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(['job_a1', 'job_b1', 'job_c1']);
      for (const job of jobs) expect(job).toMatchObject({ state: 'running', epoch: 1, startedAt: start });
      expect(await claim(start + leaseMs - 1)).toBeNull();
    });

    it('takes tenants in turn, however many one has, and of a tenant the oldest first', async () => {
      const { store } = harness;
      await add(...[1, 2, 3].map((i) => storedJob(`a${i}`)));
      await add(storedJob('b1', { ...ofTenant('b'), turnAt: start + 1 }));
      const order: JobId[] = [];
      for (let at = start + 10; order.length < 6; at += 10) {
        const job = await claimed(at);
        order.push(job.id);
        await store.save({ ...job, state: 'queued', turnAt: at + 5, leaseUntil: null });
      }
      expect(order).toEqual(['job_a1', 'job_b1', 'job_a1', 'job_b1', 'job_a1', 'job_b1']);
      const last = await claimed(start + 1000);
      await store.save(ended(last, start + 1000));
      expect([(await claimed(start + 1001)).id, (await claimed(start + 1001)).id]).toEqual(['job_b1', 'job_a2']);
    });

    it('gives a running job to the next once its lease is over: its former owner writes nothing any more', async () => {
      const { store, other } = harness;
      await add(storedJob('1'));
      const first = await claimed(start + 7);
      expect(first).toMatchObject({ startedAt: start + 7, movedAt: start + 7, leaseUntil: start + 7 + leaseMs });
      const later = start + 7 + leaseMs;
      const saved = await store.save({ ...first, done: 4, movedAt: start + 9 });
      expect(saved.done).toBe(4);
      const second = await other.claim(later, later + leaseMs);
      expect(second).toEqual({ ...saved, epoch: 2, leaseUntil: later + leaseMs });
      await expect(store.save({ ...first, done: 9 })).rejects.toBeInstanceOf(StaleOwnerError);
      await expect(store.save(ended(first, later))).rejects.toBeInstanceOf(StaleOwnerError);
      expect(await store.find(first.tenantId, first.id)).toEqual(second);
    });

    it('counts for a day in which a job does not come on no time in which nobody had it', async () => {
      const { store, other } = harness;
      await add(storedJob('1'));
      const first = await claimed(start);
      // As often as its lease ends and somebody comes within a minute.
      const second = await claimed(start + leaseMs + clocksDifferMs);
      expect(second.movedAt).toBe(first.movedAt);
      const downMs = 2 * 24 * 3_600_000;
      const later = (second.leaseUntil ?? 0) + downMs;
      const third = await other.claim(later, later + leaseMs);
      expect(third).toEqual({ ...second, movedAt: start + downMs, epoch: 3, leaseUntil: later + leaseMs });
      expect(await store.find(first.tenantId, first.id)).toEqual(third);
      expect((await store.standing()).running).toEqual([{ id: 'job_1', movedAt: start + downMs }]);
    });

    it('goes on with what was taken on by a clock that was ahead, once it is set right', async () => {
      const { store, other } = harness;
      const aheadMs = 2 * 3_600_000;
      await add(storedJob('1', { turnAt: start + aheadMs }));
      const first = await store.claim(start + aheadMs, start + aheadMs + leaseMs);
      expect(first).toMatchObject({ id: 'job_1', state: 'running' });
      if (first === null) throw new Error('there is one');
      await add(storedJob('2', ofTenant('b')));
      await claimed(start);
      expect(await claim(start)).toBeNull();
      const lease = { id: 'job_1' as JobId, leaseUntil: start + aheadMs + leaseMs };
      expect(await other.leasesAfter(start + leaseMs)).toEqual([lease]);
      expect(await other.leasesAfter(start - 1)).toHaveLength(2);
      // Its process is at work: the lease that was seen is no more.
      const prolonged = { ...first, leaseUntil: start + aheadMs + leaseMs + 7 };
      await store.save(prolonged);
      expect(await other.claimFrom(lease, start, start + leaseMs)).toBeNull();
      const [left] = await other.leasesAfter(start + leaseMs);
      if (left === undefined) throw new Error('there is one');
      const second = await other.claimFrom(left, start, start + leaseMs);
      expect(second).toEqual({ ...prolonged, epoch: 2, leaseUntil: start + leaseMs });
      if (second === null) throw new Error('there is one');
      await expect(store.save(prolonged)).rejects.toBeInstanceOf(StaleOwnerError);
      expect(await other.claimFrom(left, start, start + leaseMs)).toBeNull();
      await other.save({ ...second, state: 'queued', turnAt: start + aheadMs, leaseUntil: null });
      expect(await store.standing()).toMatchObject({ queued: 1, head: 'job_1' });
      expect(await claimed(start + 2)).toMatchObject({ id: 'job_1', epoch: 3 });
    });

    it('lets nobody write a job that does not run', async () => {
      const { store } = harness;
      await add(storedJob('1'));
      await expect(store.save(storedJob('1', { done: 1 }))).rejects.toBeInstanceOf(StaleOwnerError);
      const job = await claimed(start);
      await store.save(ended(job, start + 1));
      await expect(store.save(job)).rejects.toBeInstanceOf(StaleOwnerError);
      expect(await store.claim(start + 10 * leaseMs, start + 11 * leaseMs)).toBeNull();
    });

    it('stops what has not begun at once, tells the owner of what has, and leaves what is over as it is', async () => {
      const { store, other } = harness;
      await add(storedJob('1'), storedJob('2', ofTenant('b')));
      const stopped = await other.askStop('tnt_b' as TenantId, 'job_2' as JobId, start + 1);
      expect(stopped).toMatchObject({ state: 'stopped', endedAt: start + 1, startedAt: null });
      const job = await claimed(start);
      expect(await claim(start)).toBeNull();
      expect(await other.askStop(job.tenantId, job.id, start + 2)).toMatchObject({
        state: 'running',
        isStopAsked: true,
        endedAt: null,
      });
      const told = await store.save({ ...job, done: 3 });
      expect(told).toMatchObject({ isStopAsked: true, done: 3 });
      const over = await store.save({ ...ended(told, start + 3), state: 'stopped' });
      expect(await other.askStop(job.tenantId, job.id, start + 9)).toEqual(over);
    });

    it('what is stopped before it begins names nobody any more, and the erasure of a tenant still says that it is one', async () => {
      const { store, other } = harness;
      const filter = { isWholeTenant: true };
      await add(storedJob('1', { filter: { recipient: 'ada@example.com' } }), storedJob('2', { filter }));
      const stopped = await other.askStop('tnt_a' as TenantId, 'job_1' as JobId, start + 1);
      expect([stopped?.state, stopped?.filter]).toEqual(['stopped', {}]);
      expect(await store.find('tnt_a' as TenantId, 'job_1' as JobId)).toEqual(stopped);
      expect((await other.askStop('tnt_a' as TenantId, 'job_2' as JobId, start + 1))?.filter).toEqual(filter);
    });

    it('one that waits for its next turn is stopped by whoever takes it', async () => {
      const { store } = harness;
      await add(storedJob('1'));
      const job = await claimed(start);
      await store.save({ ...job, state: 'queued', turnAt: start + 5, leaseUntil: null });
      const asked = await store.askStop(job.tenantId, job.id, start + 6);
      expect(asked).toMatchObject({ state: 'queued', isStopAsked: true, endedAt: null });
      expect(await claimed(start + 7)).toMatchObject({ isStopAsked: true, epoch: 2 });
    });

    it("removes all of a tenant's but those of one filter, and whoever runs one of them finds it gone", async () => {
      const { store, other } = harness;
      const filter = { isWholeTenant: true };
      await add(storedJob('a1'), storedJob('a2', { filter }), storedJob('b1', { ...ofTenant('b'), turnAt: start + 1 }));
      const running = await claimed(start);
      await other.removeAllBut('tnt_a' as TenantId, filter);
      expect(await store.find('tnt_a' as TenantId, running.id)).toBeNull();
      await expect(store.save(running)).rejects.toThrow(StaleOwnerError);
      expect((await claimed(start + 1)).id).toBe('job_a2');
      expect((await claimed(start + 2)).id).toBe('job_b1');
    });

    it('says what should come on: what runs, and who is first of those that wait', async () => {
      const { store, other } = harness;
      expect(await store.standing()).toEqual({ running: [], queued: 0, head: null });
      await add(storedJob('a1'), storedJob('a2'), storedJob('b1', { ...ofTenant('b'), turnAt: start + 1 }));
      expect(await other.standing()).toEqual({ running: [], queued: 3, head: 'job_a1' });
      await claimed(start + 3);
      const running = [{ id: 'job_a1', movedAt: start + 3 }];
      expect(await other.standing()).toEqual({ running, queued: 2, head: 'job_b1' });
      await claimed(start + 5);
      expect(await other.standing()).toMatchObject({ queued: 1, head: null });
    });

    it('keeps the newest of those that are over', async () => {
      const { store } = harness;
      for (let i = 0; i < endedJobsMax + 3; i++) {
        await store.add(storedJob(`${i}`, { turnAt: start + i }));
        await store.save(ended(await claimed(start + i), start + i));
      }
      await store.add(storedJob('last'));
      const kept = async (i: number) => (await store.find('tnt_a' as TenantId, `job_${i}` as JobId)) !== null;
      expect([await kept(0), await kept(2), await kept(3), await kept(endedJobsMax + 2)]).toEqual([
        false,
        false,
        true,
        true,
      ]);
    }, 60_000);
  });
}
