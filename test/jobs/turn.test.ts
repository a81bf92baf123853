// A turn of a job, its process killed or asleep or its stores away at any step: each notification once, and the count right.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { JobKind } from '../../src/domain/job.ts';
import type { JobId, TenantId } from '../../src/domain/ids.ts';
import { startJob } from '../../src/commands/start-job.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { unavailable } from '../../src/domain/errors.ts';
import { recordsWaitMs, turnMs } from '../../src/jobs/limits.ts';
import type { TurnDependencies } from '../../src/jobs/turn.ts';
import { takeTurn } from '../../src/jobs/turn.ts';
import type { StoredJob } from '../../src/ports/job-store.ts';
import type { Document, ReadModelReader } from '../../src/ports/read-model-store.ts';
import { StaleOwnerError } from '../../src/ports/job-store.ts';
import { notificationsReadModel } from '../../src/projections/notifications/index.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const leaseMs = 20_000;
/** Any machine may be busy. */
const waitMaxMs = 60_000;
let app: App;
let sink: HttpSink;
let tenant: Tenant;
let tenants = 0;

beforeAll(async () => {
  // Whatever is sent there is refused for good.
  sink = await startHttpSink({ respond: (_, response) => response.writeHead(410).end() });
  app = await startApp({ runsJobs: false });
}, 240_000);
afterAll(async () => {
  await app.close();
  await sink.close();
});

/** A tenant of its own with a batch; `path` tells them apart at the sink. */
async function batchOf(count: number, more: (i: number) => object = () => ({})) {
  tenant = await app.tenant(`tenant-${tenants++}`);
  const path = `/${tenant.id}`;
  const hook = { channel: 'WEBHOOK', recipient: `${sink.url}${path}`, body: 'x' };
  const notifications = Array.from({ length: count }, (_, i) => ({ ...hook, ...more(i) }));
  const { body } = await tenant.withKey('POST', '/notify/batch', { notifications });
  const counts = async (): Promise<Record<string, number>> =>
    (await tenant.withKey('GET', `/notify/batch/${body.batchId}`)).body.statusCounts;
  const requests = () => sink.requests.filter((request) => request.path === path);
  /** How often each notification arrived, the fewest and the most. */
  const arrivals = () => {
    const byId = Map.groupBy(requests(), ({ body: sent }) => (JSON.parse(sent) as { id: string }).id);
    const times = [...byId.values()].map((all) => all.length);
    return [byId.size, Math.min(...times), Math.max(...times)];
  };
  const become = (status: string, howMany: number) =>
    until(async () => (await counts())[status] === howMany, { what: `${howMany} ${status}`, timeoutMs: waitMaxMs });
  return { batchId: body.batchId as string, counts, requests, arrivals, become };
}

async function jobOf(kind: JobKind, batchId: string, ratePerSecond = 500): Promise<JobId> {
  const asked = { tenantId: tenant.id as TenantId, kind, filter: { batchId }, ratePerSecond, total: 0, trace: noTrace };
  return startJob(app.deps)(asked);
}

const claimed = async (at = Date.now()): Promise<StoredJob> => {
  const job = await app.deps.jobs.claim(at, at + leaseMs);
  if (job === null) throw new Error('there is one');
  return job;
};
const turn = (job: StoredJob, more: Partial<TurnDependencies> = {}) =>
  takeTurn(
    { ...app.deps, commands: app.commands, bytes: app.bytes, signal: new AbortController().signal, ...more },
    job,
  );

/** Of a process that is killed at its n-th write of a mark: that one is not made. */
const dyingAt = (n: number): Partial<TurnDependencies> => {
  let saves = 0;
  return {
    jobs: {
      save: async (job) => {
        if (++saves >= n) throw new Error('killed');
        return app.deps.jobs.save(job);
      },
    },
  };
};
/** Once the lease of whoever was killed is over. */
const laterOwner = (job: StoredJob) => claimed((job.leaseUntil ?? 0) + 60_000);

describe('sending again', () => {
  it('what has failed is sent once, and what has failed again by then is not sent a third time', async () => {
    const { batchId, arrivals, become } = await batchOf(250);
    await become('FAILED', 250);
    await jobOf('retry', batchId);
    const job = await turn(await claimed());
    expect(job).toMatchObject({ state: 'done', done: 250, skipped: 0, failed: 0 });
    await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
    await become('FAILED', 250);
    expect(arrivals()).toEqual([250, 2, 2]);
  }, 240_000);

  it.each([2, 3, 4])(
    'killed before write %d of the mark, all of its page sent and failed again: the next owner sends none of it',
    async (n) => {
      const { batchId, arrivals, requests, become } = await batchOf(250);
      await become('FAILED', 250);
      await jobOf('retry', batchId);
      const first = await claimed();
      await expect(turn(first, dyingAt(n))).rejects.toThrow('killed');
      const sent = 250 + Math.min((n - 1) * 100, 250);
      await until(() => requests().length === sent, { timeoutMs: waitMaxMs });
      await become('FAILED', 250);
      const job = await turn(await laterOwner(first));
      expect(job).toMatchObject({ state: 'done', done: 250, skipped: 0, failed: 0, epoch: 2 });
      await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
      await become('FAILED', 250);
      expect(arrivals()).toEqual([250, 2, 2]);
    },
    240_000,
  );

  it('the log goes away in the middle of a page: the rest of it is sent later, and none of it twice', async () => {
    const { batchId, arrivals, become } = await batchOf(60);
    await become('FAILED', 60);
    await jobOf('retry', batchId);
    let calls = 0;
    const retryNotification: TurnDependencies['commands']['retryNotification'] = async (...args) => {
      if (++calls > 25) throw unavailable('away');
      return app.commands.retryNotification(...args);
    };
    const first = await claimed();
    await expect(turn(first, { commands: { ...app.commands, retryNotification } })).rejects.toThrow('away');
    const stored = await app.deps.jobs.find(first.tenantId, first.id);
    expect(stored).toMatchObject({ state: 'running', done: 0 });
    expect(stored?.mark.planned).toHaveLength(60);
    const job = await turn(await laterOwner(first));
    expect(job).toMatchObject({ state: 'done', done: 60, skipped: 0 });
    await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
    await become('FAILED', 60);
    expect(arrivals()).toEqual([60, 2, 2]);
  }, 240_000);

  it('whoever goes on waits until the records have what the former owner has appended', async () => {
    const { batchId, arrivals, become } = await batchOf(20);
    await become('FAILED', 20);
    await jobOf('retry', batchId);
    const first = await claimed();
    await expect(turn(first, dyingAt(2))).rejects.toThrow('killed');
    const { reader } = app.deps;
    let isBehind = true;
    let asked = 0;
    let appends = 0;
    const positions: typeof reader.positions = async (...args) => {
      asked++;
      return isBehind ? new Map() : reader.positions(...args);
    };
    const commands: TurnDependencies['commands'] = {
      ...app.commands,
      retryNotification: (...args) => {
        appends++;
        return app.commands.retryNotification(...args);
      },
    };
    const second = turn(await laterOwner(first), { reader: { ...reader, positions }, commands });
    await until(() => asked > 0, { timeoutMs: waitMaxMs });
    expect(appends).toBe(0);
    isBehind = false;
    expect(await second).toMatchObject({ state: 'done', done: 20 });
    expect(appends).toBe(0);
    await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
    await become('FAILED', 20);
    expect(arrivals()).toEqual([20, 2, 2]);
  }, 240_000);

  it('a process that slept past its lease begins nothing of its plan', async () => {
    const { batchId, requests, become } = await batchOf(5);
    await become('FAILED', 5);
    await jobOf('retry', batchId);
    let sleptMs = 0;
    const { clock, jobs } = app.deps;
    const sleeping: Partial<TurnDependencies> = {
      clock: { ...clock, now: () => clock.now() + sleptMs },
      jobs: {
        save: async (job) => {
          const saved = await jobs.save(job);
          sleptMs = leaseMs + 1;
          return saved;
        },
      },
    };
    const first = await claimed();
    await expect(turn(first, sleeping)).rejects.toBeInstanceOf(StaleOwnerError);
    const second = await laterOwner(first);
    await expect(turn(first)).rejects.toBeInstanceOf(StaleOwnerError);
    expect(requests()).toHaveLength(5);
    expect(await turn(second)).toMatchObject({ state: 'done', done: 5 });
  }, 240_000);

  it('what may not be sent again is skipped', async () => {
    const { batchId, become } = await batchOf(4, (i) => (i === 0 ? { ttlSeconds: 1 } : {}));
    await become('FAILED', 4);
    await jobOf('retry', batchId);
    const { clock } = app.deps;
    const later = { ...clock, now: () => clock.now() + 5000 };
    const { retryNotification } = await import('../../src/commands/retry-notification.ts');
    const commands = { ...app.commands, retryNotification: retryNotification({ log: app.deps.log, clock: later }) };
    expect(await turn(await claimed(), { commands })).toMatchObject({ state: 'done', done: 3, skipped: 1 });
  }, 240_000);

  it('comes at the rate that was asked for: a page is a fifth of a second’s, and rests as long', async () => {
    const { batchId, become } = await batchOf(9);
    await become('FAILED', 9);
    await jobOf('retry', batchId, 15);
    const { clock } = app.deps;
    const rests: number[] = [];
    const sleep: typeof clock.sleep = async (ms) => void rests.push(ms);
    // In no time at all, but for what is slept.
    const still = { ...clock, monotonic: () => 0, sleep };
    expect(await turn(await claimed(), { clock: still })).toMatchObject({ done: 9 });
    expect(rests.slice(0, 3)).toEqual([200, 200, 200]);
  }, 240_000);
});

describe('stopping', () => {
  it('asked half-way it ends behind the page in hand, and what it says is what was sent', async () => {
    const { batchId, requests, become } = await batchOf(250);
    await become('FAILED', 250);
    const id = await jobOf('retry', batchId);
    const stopping: Partial<TurnDependencies> = {
      commands: {
        ...app.commands,
        retryNotification: async (...args) => {
          await app.deps.jobs.askStop(tenant.id as TenantId, id, Date.now());
          return app.commands.retryNotification(...args);
        },
      },
    };
    const job = await turn(await claimed(), stopping);
    expect(job).toMatchObject({ state: 'stopped', done: 100, skipped: 0 });
    await until(() => requests().length === 350, { timeoutMs: waitMaxMs });
    await become('FAILED', 250);
    expect(requests()).toHaveLength(350);
    expect(await app.deps.jobs.find(job.tenantId, id)).toEqual(job);
  }, 240_000);

  it('asked while its owner is dead the next one sends nothing, and counts what was sent', async () => {
    const { batchId, requests, become } = await batchOf(250);
    await become('FAILED', 250);
    const id = await jobOf('retry', batchId);
    const first = await claimed();
    let calls = 0;
    const retryNotification: TurnDependencies['commands']['retryNotification'] = async (...args) => {
      if (++calls > 140) throw unavailable('killed');
      return app.commands.retryNotification(...args);
    };
    await expect(turn(first, { commands: { ...app.commands, retryNotification } })).rejects.toThrow('killed');
    await app.deps.jobs.askStop(first.tenantId, id, Date.now());
    const job = await turn(await laterOwner(first));
    expect(job).toMatchObject({ state: 'stopped', done: 140, skipped: 0 });
    await until(() => requests().length === 390, { timeoutMs: waitMaxMs });
    await become('FAILED', 250);
    expect(requests()).toHaveLength(390);
  }, 240_000);

  it('of the process: what is in hand is finished, and the rest is for the next', async () => {
    const { batchId, arrivals, become } = await batchOf(250);
    await become('FAILED', 250);
    await jobOf('retry', batchId);
    const stopping = new AbortController();
    const commands: TurnDependencies['commands'] = {
      ...app.commands,
      retryNotification: (...args) => {
        stopping.abort();
        return app.commands.retryNotification(...args);
      },
    };
    const half = await turn(await claimed(), { commands, signal: stopping.signal });
    expect(half).toMatchObject({ state: 'queued', done: 100, leaseUntil: null });
    expect(await turn(await claimed())).toMatchObject({ state: 'done', done: 250 });
    await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
    expect(arrivals()).toEqual([250, 2, 2]);
  }, 240_000);
});

describe('records that are behind', () => {
  /** By a clock that goes on while somebody sleeps; `position`: how far the records are on each number, the log being at `end`. */
  const recordsAt = (end: (at: number) => number, position: (at: number) => number) => {
    const { clock, log, reader } = app.deps;
    let at = 0;
    const partitions = Array.from({ length: log.partitioning.partitions }, (_, i) => i);
    const more: Partial<TurnDependencies> = {
      clock: { ...clock, monotonic: () => at, sleep: async (ms) => void (at += ms) },
      log: { ...log, ends: async () => partitions.map(() => end(at)) },
      reader: {
        ...reader,
        positions: async () => new Map(notificationsReadModel.topics.map((topic) => [topic, position(at)])),
        ahead: async () => null,
      },
    };
    return { more, slept: (ms: number) => (at += ms), at: () => at };
  };
  const standing = () =>
    recordsAt(
      () => 5,
      () => 0,
    );
  /** As the runner does. */
  const nextOwner = async (job: StoredJob) => laterOwner(await app.deps.jobs.save(job));

  it('for longer than a turn, of a log that grows: what is waited for stays the same, and the job begins', async () => {
    const { batchId, arrivals, become } = await batchOf(3);
    await become('FAILED', 3);
    await jobOf('retry', batchId);
    const { more, slept, at } = recordsAt(
      (now) => 100_000 + now,
      (now) => 100_000 + now - 12_000,
    );
    const first = await claimed();
    const waiting = await turn(first, more);
    expect(waiting).toMatchObject({ state: 'running', movedAt: first.movedAt, mark: { next: { kind: 'first' } } });
    expect(at()).toBe(turnMs);
    slept(1000);
    const looked = await turn(await nextOwner(waiting), more);
    expect(looked).toMatchObject({ state: 'running', movedAt: first.movedAt, epoch: 2 });
    expect(at()).toBe(turnMs + 1000);
    slept(1000);
    expect(await turn(await nextOwner(looked), more)).toMatchObject({ state: 'done', done: 3 });
    await until(() => arrivals()[1] === 2, { timeoutMs: waitMaxMs });
  }, 240_000);

  it('and its owner killed while it waited: the next one waits for all that the log has by then', async () => {
    const { batchId, become } = await batchOf(1);
    await become('FAILED', 1);
    await jobOf('retry', batchId);
    const first = await turn(await claimed(), standing().more);
    const second = await nextOwner(first);
    const third = await laterOwner(second);
    let position = 5;
    const { more } = recordsAt(
      () => 7,
      () => position,
    );
    const waiting = await turn(third, more);
    expect(new Set(waiting.mark.awaited?.positions.map(({ offset }) => offset))).toEqual(new Set([6]));
    position = 7;
    expect(await turn(await nextOwner(waiting), more)).toMatchObject({ state: 'done', done: 1 });
  }, 240_000);

  it('and the log put back from an earlier time meanwhile: what it has is waited for, and no more', async () => {
    const { batchId, become } = await batchOf(1);
    await become('FAILED', 1);
    await jobOf('retry', batchId);
    const first = await turn(await claimed(), standing().more);
    let position = 2;
    const { more } = recordsAt(
      () => 3,
      () => position,
    );
    const waiting = await turn(await nextOwner(first), more);
    expect(waiting).toMatchObject({ state: 'running', done: 0 });
    position = 3;
    expect(await turn(await nextOwner(waiting), more)).toMatchObject({ state: 'done', done: 1 });
  }, 240_000);

  it('a job that is to stop ends all the same, and nothing of it is sent', async () => {
    const { batchId, requests, become } = await batchOf(2);
    await become('FAILED', 2);
    const id = await jobOf('retry', batchId);
    const { more, at } = standing();
    const save: TurnDependencies['jobs']['save'] = async (job) => {
      await app.deps.jobs.askStop(job.tenantId, id, Date.now());
      return app.deps.jobs.save(job);
    };
    const job = await turn(await claimed(), { ...more, jobs: { save } });
    expect(job).toMatchObject({ state: 'stopped', done: 0 });
    expect(at()).toBe(recordsWaitMs);
    expect(requests()).toHaveLength(2);
  }, 240_000);

  it('one that is to stop with a page in hand waits for a turn, then counts what they show', async () => {
    const { batchId, requests, become } = await batchOf(2);
    await become('FAILED', 2);
    const id = await jobOf('retry', batchId);
    const first = await claimed();
    await expect(turn(first, dyingAt(2))).rejects.toThrow('killed');
    await until(() => requests().length === 4, { timeoutMs: waitMaxMs });
    // They are FAILED before it is recorded that they were sent again, too.
    const ids = requests().map(({ body }) => (JSON.parse(body) as { id: string }).id);
    const records = () => app.deps.reader.get<{ round: number; status: string }>('notifications_2', ids);
    const isRecorded = async () =>
      [...(await records()).values()].every(({ round, status }) => round === 2 && status === 'FAILED');
    await until(isRecorded, { timeoutMs: waitMaxMs, what: 'both to be recorded as sent again' });
    const second = await laterOwner(first);
    await app.deps.jobs.askStop(first.tenantId, id, Date.now());
    const { more, at } = standing();
    expect(await turn(second, more)).toMatchObject({ state: 'stopped', done: 2, skipped: 0 });
    expect(at()).toBe(turnMs);
  }, 240_000);

  it('a process that stops leaves the job to others', async () => {
    const { batchId, become } = await batchOf(1);
    await become('FAILED', 1);
    await jobOf('retry', batchId);
    const stopping = new AbortController();
    stopping.abort();
    let position = 0;
    const { more, at } = recordsAt(
      () => 5,
      () => position,
    );
    const job = await turn(await claimed(), { ...more, signal: stopping.signal });
    expect(job).toMatchObject({ state: 'running', endedAt: null });
    expect(at()).toBe(recordsWaitMs);
    position = 5;
    expect(await turn(await nextOwner(job), more)).toMatchObject({ state: 'done', done: 1 });
  }, 240_000);
});

describe('cancelling', () => {
  const sendAt = () => ({ sendAt: new Date(Date.now() + 3_600_000).toISOString() });

  it('what is scheduled or waits for another try is cancelled, and nothing else; again it does nothing', async () => {
    // Nobody listens there: tried again after 50 ms, then in an hour. Four are too few for a breaker.
    const { batchId, become, counts } = await batchOf(120, (i) =>
      i < 100 ? sendAt() : i < 104 ? { recipient: 'http://127.0.0.1:9/' } : {},
    );
    await become('FAILED', 16);
    await become('SCHEDULED', 100);
    const twice = async () => {
      const { body } = await tenant.dashboard('GET', `/notifications?batchId=${batchId}&status=RETRYING`);
      return body.data.map(({ attemptCount }: { attemptCount: number }) => attemptCount).join();
    };
    await until(async () => (await twice()) === '2,2,2,2', { what: 'second attempts', timeoutMs: waitMaxMs });
    await jobOf('cancel', batchId);
    expect(await turn(await claimed())).toMatchObject({ state: 'done', done: 104, skipped: 0, failed: 0 });
    expect(await counts()).toMatchObject({ CANCELLED: 104, FAILED: 16 });
    await jobOf('cancel', batchId);
    expect(await turn(await claimed())).toMatchObject({ state: 'done', done: 0, skipped: 0, failed: 0 });
    expect(await counts()).toMatchObject({ CANCELLED: 104, FAILED: 16 });
  }, 240_000);

  it('killed after it has asked for a page, the next owner counts it', async () => {
    const { batchId, become, counts } = await batchOf(150, sendAt);
    await become('SCHEDULED', 150);
    await jobOf('cancel', batchId);
    const first = await claimed();
    await expect(turn(first, dyingAt(2))).rejects.toThrow('killed');
    await become('CANCELLED', 100);
    expect(await turn(await laterOwner(first))).toMatchObject({ state: 'done', done: 150, skipped: 0 });
    expect(await counts()).toMatchObject({ CANCELLED: 150 });
  }, 240_000);

  it('one whose time comes meanwhile is not too late by that: whoever has it in hand cancels it', async () => {
    const told = ['SCHEDULED', 'QUEUED', 'CANCELLED'] as const;
    let asked = 0;
    const reader: ReadModelReader = {
      ...app.deps.reader,
      get: async <D extends Document>(_: string, ids: readonly string[]) => {
        const status = told[Math.min(asked++, told.length - 1)];
        return new Map(ids.map((id) => [id, { status } as unknown as D]));
      },
      onChange(_, listener) {
        const timer = setInterval(listener, 5);
        return () => clearInterval(timer);
      },
    };
    const { batchId, become } = await batchOf(1, sendAt);
    await become('SCHEDULED', 1);
    await jobOf('cancel', batchId);
    expect(await turn(await claimed(), { reader })).toMatchObject({ state: 'done', done: 1, skipped: 0, failed: 0 });
  }, 240_000);
});
