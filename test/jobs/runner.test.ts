// The runner of jobs: who has a place, what becomes of a job that can't come on, and what is said of it.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { startErasure } from '../../src/commands/start-erasure.ts';
import { startJob } from '../../src/commands/start-job.ts';
import { unavailable } from '../../src/domain/errors.ts';
import type { JobId, TenantId } from '../../src/domain/ids.ts';
import { partitionsOfTenant } from '../../src/domain/topics.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { leaseMs, lookEveryMs, placesMax, stuckMaxMs, troubleRestMs, turnMs } from '../../src/jobs/limits.ts';
import type { JobRunner, RunnerDependencies } from '../../src/jobs/runner.ts';
import { runJobs } from '../../src/jobs/runner.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

let app: App;
let runner: JobRunner | null;
beforeEach(async () => {
  app = await startApp({ runsJobs: false, delivers: false });
  runner = null;
});
afterEach(async () => {
  await runner?.stop();
  await app.close();
});

const run = (more: Partial<RunnerDependencies> = {}): void => {
  runner = runJobs({ ...app.deps, commands: app.commands, bytes: app.bytes, ...more });
};
const ask = (tenant: string): Promise<JobId> =>
  startJob(app.deps)({
    tenantId: `tnt_${tenant}` as TenantId,
    kind: 'retry',
    filter: { batchId: 'batch_1' },
    ratePerSecond: 100,
    total: 0,
    trace: noTrace,
  });
const find = (tenant: string, id: JobId) => app.deps.jobs.find(`tnt_${tenant}` as TenantId, id);
const said = (message: string) => app.lines.filter((line) => line.message === message);

describe('the runner', () => {
  it('runs what is asked for, of as many tenants at once as there are places, and of each its jobs one after another', async () => {
    const { reader } = app.deps;
    let under = 0;
    let most = 0;
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const find_: typeof reader.find = async (query) => {
      most = Math.max(most, ++under);
      await gate;
      under--;
      return reader.find(query);
    };
    const tenants = Array.from({ length: placesMax + 2 }, (_, i) => String(i));
    const ids = await Promise.all(tenants.flatMap((tenant) => [tenant, tenant]).map(ask));
    run({ reader: { ...reader, find: find_ } });
    await until(() => under === placesMax);
    const { running, head } = await app.deps.jobs.standing();
    expect(running).toHaveLength(placesMax);
    expect(head).not.toBeNull();
    go();
    await until(() => said('a job has ended').length === ids.length);
    expect(most).toBe(placesMax);
    expect(new Set(said('a job has ended').map(({ fields }) => fields['jobId']))).toEqual(new Set(ids));
  }, 120_000);

  it('asks the store for work twice a second while there is none, however many places are free', async () => {
    const { jobs, clock } = app.deps;
    let asked = 0;
    let under = 0;
    let most = 0;
    const slept: number[] = [];
    run({
      jobs: {
        ...jobs,
        async claim(...args) {
          asked++;
          most = Math.max(most, ++under);
          const job = await jobs.claim(...args);
          under--;
          return job;
        },
      },
      clock: {
        ...clock,
        sleep(ms, signal) {
          slept.push(ms);
          // Time passes as fast as it is waited for.
          return clock.sleep(0, signal);
        },
      },
    });
    await until(() => slept.length >= 10);
    expect(new Set(slept)).toEqual(new Set([lookEveryMs]));
    expect(asked).toBeLessThanOrEqual(slept.length + 1);
    expect(most).toBe(1);
  });

  it('one that can not come on says why, leaves its place to others, and goes on once it can', async () => {
    const { reader, clock } = app.deps;
    let isAway = true;
    const find_: typeof reader.find = async (query) => {
      if (isAway && query.equals['tenantId'] === 'tnt_a') throw unavailable('away');
      return reader.find(query);
    };
    const a = await ask('a');
    let later = 0;
    run({ reader: { ...reader, find: find_ }, clock: { ...clock, now: () => clock.now() + later } });
    for (let times = 1; times <= 3; times++) {
      await until(() => said('a job does not come on; trying again').length >= times);
      await until(async () => ((await find('a', a))?.leaseUntil ?? 0) <= clock.now() + later + troubleRestMs);
      // Its rest is over.
      later += troubleRestMs;
    }
    const before = await find('a', a);
    expect(before).toMatchObject({ state: 'running', endedAt: null });
    const others = await Promise.all(['b', 'c', 'd', 'e', 'f'].map(ask));
    await until(() => said('a job has ended').length === others.length);
    expect((await find('a', a))?.movedAt).toBe(before?.movedAt);
    isAway = false;
    await until(async () => (await find('a', a))?.state === 'done');
  }, 120_000);

  it('says how far a long one is, after each of its turns', async () => {
    const { clock, reader } = app.deps;
    const of = { tenantId: 'tnt_a' as TenantId, channel: 'SMS', recipient: '+4915112345678', actor: null } as const;
    const erase = startErasure({ ...app.deps, startJob: startJob(app.deps) });
    await erase({ ...of, total: 0, ratePerSecond: 500, trace: noTrace });
    let ahead = 0;
    const find_: typeof reader.find = async (query) => {
      ahead += turnMs;
      return reader.find(query);
    };
    run({ reader: { ...reader, find: find_ }, clock: { ...clock, monotonic: () => clock.monotonic() + ahead } });
    await until(() => said('a job has ended').length === 1);
    expect(said('a job goes on').map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ kind: 'erase', state: 'queued', total: 0, done: 0 }),
    ]);
  }, 60_000);

  it('records that stand still: a job leaves its place to others, has not come on for the watchdog, and its tenant may stop it', async () => {
    const { clock, reader, log } = app.deps;
    let ahead = 0;
    const isOfA = (partition: number) => partitionsOfTenant('tnt_a' as TenantId, log.partitioning).includes(partition);
    const ends: typeof log.ends = async (topic) => (await log.ends(topic)).map((end, n) => (isOfA(n) ? 5 : end));
    const a = await ask('a');
    run({
      log: { ...log, ends },
      clock: {
        ...clock,
        now: () => clock.now() + ahead,
        monotonic: () => clock.monotonic() + ahead,
        async sleep(ms, signal) {
          // Time passes as fast as it is waited for.
          if (signal?.aborted !== true) ahead += ms;
          return clock.sleep(1, signal);
        },
      },
      reader: { ...reader, ahead: async () => null },
    });
    await until(() => said('a job waits for the records').length >= 1);
    const before = await find('a', a);
    await until(() => said('a job waits for the records').length >= 2 * placesMax);
    expect(await find('a', a)).toMatchObject({ state: 'running', movedAt: before?.movedAt, done: 0 });
    expect((await app.deps.jobs.standing()).running).toEqual([{ id: a, movedAt: before?.movedAt }]);
    const isApart = (tenant: string) =>
      !partitionsOfTenant(`tnt_${tenant}` as TenantId, log.partitioning).some((partition) => isOfA(partition));
    const others = await Promise.all(['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'].filter(isApart).map(ask));
    expect(others.length).toBeGreaterThan(0);
    await until(() => said('a job has ended').length === others.length);
    await app.deps.jobs.askStop('tnt_a' as TenantId, a, clock.now());
    await until(async () => (await find('a', a))?.state === 'stopped');
  }, 60_000);

  it('one that has not come on for a day is given up', async () => {
    const { reader, clock, metrics, jobs } = app.deps;
    const counted: unknown[] = [];
    const find_: typeof reader.find = async () => {
      throw new TypeError('a bug');
    };
    const id = await ask('a');
    const begun = await jobs.claim(clock.now(), clock.now() + 1);
    if (begun === null) throw new Error('there is one');
    // Another minute, and it is a day.
    await jobs.save({ ...begun, movedAt: clock.now() - stuckMaxMs + 60_000 });
    let later = 0;
    run({
      reader: { ...reader, find: find_ },
      clock: { ...clock, now: () => clock.now() + later },
      metrics: {
        ...metrics,
        increment(name, labels, by = 1) {
          if (by > 0) counted.push([name, labels]);
        },
      },
    });
    await until(() => said('a job does not come on; trying again').length === 1);
    expect(await find('a', id)).toMatchObject({ state: 'running' });
    for (let times = 2; times <= 3; times++) {
      later += 35_000;
      await until(() => said('a job does not come on; trying again').length === times);
    }
    await until(async () => (await find('a', id))?.state === 'failed');
    // Of whom it was about nothing stays.
    expect((await find('a', id))?.filter).toEqual({});
    await until(() => counted.length > 0);
    expect(counted).toEqual([['herald_jobs_ended_total', { state: 'failed' }]]);
    expect((await app.deps.jobs.standing()).running).toEqual([]);
  }, 120_000);

  it.each([
    ['whose process was killed, and nobody ran for days', true],
    ['in whose turn the clock is set days ahead', false],
  ])('one %s is not given up for that', async (_, wasKilled) => {
    const { reader, clock, jobs } = app.deps;
    const daysMs = 2 * stuckMaxMs;
    const id = await ask('a');
    if (wasKilled) expect(await jobs.claim(clock.now(), clock.now() + leaseMs)).not.toBeNull();
    let later = wasKilled ? daysMs : 0;
    let tries = 0;
    const find_: typeof reader.find = async (query) => {
      if (tries++ > 0) return reader.find(query);
      later = daysMs;
      throw unavailable('The records are folded anew.');
    };
    run({ reader: { ...reader, find: find_ }, clock: { ...clock, now: () => clock.now() + later } });
    await until(async () => said('a job has ended').length === 1, { timeoutMs: 30_000 });
    expect([tries > 1, (await find('a', id))?.state]).toEqual([true, 'done']);
  });

  it('another process has it by now: nothing of it is touched', async () => {
    const { jobs, reader, clock } = app.deps;
    const id = await ask('a');
    const later = clock.now() + 60_000;
    let taken = 0;
    const find_: typeof reader.find = async () => {
      if (taken++ === 0) await jobs.claim(later, later + 20_000);
      throw unavailable('away');
    };
    run({ reader: { ...reader, find: find_ } });
    await until(() => said('a job does not come on; trying again').length === 1);
    await runner?.stop();
    expect(await find('a', id)).toMatchObject({ epoch: 2, leaseUntil: later + 20_000 });
  }, 120_000);
});
