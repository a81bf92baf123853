// The erasure of a whole tenant as a job: killed at any step it comes to its end, nothing of the tenant is left, and everything of others is as it was.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eraseTenant, startTenantErasure } from '../../src/commands/erase-tenant.ts';
import { startErasure } from '../../src/commands/start-erasure.ts';
import { startJob } from '../../src/commands/start-job.ts';
import type { JobId, TenantId } from '../../src/domain/ids.ts';
import { openJobsMax } from '../../src/domain/job.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { allTopics, retentionTopic } from '../../src/domain/topics.ts';
import type { TurnDependencies } from '../../src/jobs/turn.ts';
import { takeTurn } from '../../src/jobs/turn.ts';
import type { StoredJob } from '../../src/ports/job-store.ts';
import { readModels } from '../../src/projections/index.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const leaseMs = 20_000;
const waitMaxMs = 60_000;
const many = 60;
let app: App;
let tenant: Tenant;
let bystander: Tenant;
let tenants = 0;

beforeAll(async () => {
  app = await startApp({ runsJobs: false });
  bystander = await filled();
}, 240_000);
afterAll(() => app.close());

/** A tenant of its own: items, a batch, what waits for its time, a template, a suppression and an idempotency key. */
async function filled(): Promise<Tenant> {
  const one = await app.tenant(`tenant-${tenants++}`);
  const item = (recipient: string) => ({ channel: 'IN_APP', recipient, subject: 'Hi', body: `to ${recipient}` });
  const notifications = Array.from({ length: many }, (_, n) => item(`user-${n % 7}`));
  const { body } = await one.withKey('POST', '/notify/batch', { notifications });
  await one.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: 'ada@example.com' });
  await one.dashboard('POST', '/templates', { name: 'welcome', channel: 'IN_APP', body: 'Hello {{name}}' });
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const planned = await one.notify({ ...item('later'), sendAt });
  const status = async (id: string) => (await one.dashboard('GET', `/notifications/${id}`)).body.notification?.status;
  const delivered = async () => (await one.withKey('GET', `/notify/batch/${body.batchId}`)).body.statusCounts;
  await until(async () => (await delivered()).DELIVERED === many, { timeoutMs: waitMaxMs, what: 'all delivered' });
  await until(async () => (await status(planned.body.notificationId)) === 'SCHEDULED', { what: 'one to be planned' });
  await one.withKey('POST', '/notify/inapp/user-1/read');
  return one;
}

const asked = () => startTenantErasure(app.deps)(tenant.id as TenantId, many);
const claimed = async (at = Date.now()): Promise<StoredJob> => {
  const job = await app.deps.jobs.claim(at, at + leaseMs);
  if (job === null) throw new Error('there is one');
  return job;
};
const turn = (job: StoredJob, more: Partial<TurnDependencies> = {}) => {
  const { commands, bytes } = app;
  return takeTurn({ ...app.deps, commands, bytes, signal: new AbortController().signal, ...more }, job);
};
/** Once the lease of whoever was killed is over. */
const laterOwner = ({ leaseUntil }: StoredJob, times: number) =>
  claimed(Math.max(Date.now(), leaseUntil ?? 0) + leaseMs * (times + 1));

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

/** Of a search that stands where it was, and how often it was said that the tenant is erased. */
async function standing() {
  const { clock, reader } = app.deps;
  let said = 0;
  const commands: TurnDependencies['commands'] = {
    ...app.commands,
    eraseTenant: (of) => {
      said++;
      return app.commands.eraseTenant(of);
    },
  };
  // Five seconds are a tenth of one.
  const quick = {
    ...clock,
    monotonic: () => clock.monotonic() * 50,
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 50, signal),
  };
  const { name } = searchReadModel.definition;
  const stood = await Promise.all(Array.from({ length: 12 }, (_, partition) => reader.positions(name, partition)));
  const behind: TurnDependencies['reader'] = {
    ...reader,
    positions: async (of, partition) => (of === name && stood[partition]) || reader.positions(of, partition),
  };
  return { more: { commands, reader: behind, clock: quick }, said: () => said };
}

/** Every document that names a tenant, by collection and id: all collections are read, whatever indexes they have. */
async function documentsWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const { definition } of readModels)
    for (const { name } of definition.collections)
      for (let after: string | null = null; ;) {
        const page: readonly { readonly id: string; readonly text: string }[] = await app.store.scan(name, {
          after,
          limit: 500,
          bytesMax: 4 * 1024 * 1024,
        });
        for (const one of page) if (one.id.includes(text) || one.text.includes(text)) found.push(`${name}/${one.id}`);
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.id;
      }
  return found;
}

/** As any reader meets them; how many, by topic. */
async function eventsOf(tenantId: string, ofErased?: 'shown'): Promise<Record<string, number>> {
  const { log } = app.deps;
  const counts: Record<string, number> = {};
  for (const topic of allTopics)
    for (const [partition, to] of (await log.ends(topic)).entries())
      for await (const { head } of log.read({ topic, partition, from: 0, to, ...(ofErased ? { ofErased } : {}) }))
        if (head?.tenantId === tenantId) counts[head.type] = (counts[head.type] ?? 0) + 1;
  return counts;
}

async function isGone(): Promise<void> {
  expect((await documentsWith(tenant.id)).slice(0, 5)).toEqual([]);
  expect(Object.keys(await eventsOf(tenant.id, 'shown'))).toEqual(['TenantErased']);
  expect(await app.deps.settings.settings(tenant.id as TenantId)).toBeNull();
  expect(app.deps.suppressions.of(tenant.id as TenantId)).toEqual([]);
}

const everythingOf = async (one: Tenant) => {
  const paths = ['/notifications?limit=100', '/suppressions', '/templates', '/dashboard/stats?range=all', '/tenant'];
  const answers = await Promise.all(paths.map(async (path) => (await one.dashboard('GET', path)).body));
  const inbox = (await one.withKey('GET', '/notify/inapp/user-1')).body;
  return { answers, inbox, documents: await documentsWith(one.id), events: await eventsOf(one.id) };
};

describe('the erasure of a tenant', () => {
  it('leaves nothing of it, in the log, the read models, the settings and the lists', async () => {
    tenant = await filled();
    const ids = (await tenant.dashboard('GET', '/notifications?limit=100')).body.data as { readonly id: string }[];
    const before = await everythingOf(bystander);
    await asked();
    expect(await turn(await claimed())).toMatchObject({ kind: 'erase', state: 'done', done: many + 1 });
    await isGone();
    for (const { id } of ids.slice(0, 5)) expect(await documentsWith(id)).toEqual([]);
    expect(await everythingOf(bystander)).toEqual(before);
  }, 120_000);

  it('killed before each write of its mark in turn is finished by the owners after it', async () => {
    tenant = await filled();
    await asked();
    let job = await claimed();
    for (let kills = 0; job.state !== 'done'; kills++) {
      // The first write of one owner, so that all it did is done again, and the second of the next.
      const died = await turn(job, dyingAt(1 + (kills % 2))).catch(() => null);
      if (died?.state === 'done') break;
      job = await laterOwner(job, kills);
      expect(kills).toBeLessThan(200);
    }
    expect((await app.deps.jobs.find(tenant.id as TenantId, job.id))?.epoch).toBeGreaterThan(2 * allTopics.length);
    await isGone();
  }, 120_000);

  it('waits for the same however long a read model stays behind: of what is said anew each time that never has it', async () => {
    tenant = await filled();
    await asked();
    const { more, said } = await standing();
    const first = await turn(await claimed(), more);
    let job = first;
    for (let turns = 0; turns < 3; turns++) {
      // Laid down, as one that doesn't come on: the watchdog tells, and a day of it is enough.
      expect(job).toMatchObject({ state: 'running', movedAt: first.movedAt });
      expect(job).toMatchObject({ mark: { next: { kind: 'log', awaited: expect.any(Array) } } });
      job = await turn(await laterOwner(job, turns), more);
    }
    expect(said()).toBe(1);
    // Said once more, it is looked for by one owner after another: it is folded when that has its turn.
    let turns = 3;
    const isDone = async () => {
      job = await turn(await laterOwner(job, turns++), { commands: more.commands });
      return job.state === 'done';
    };
    await until(isDone, { what: 'the tenant to be erased', everyMs: 20 });
    expect(said()).toBe(2);
    await isGone();
  }, 120_000);

  it.each([
    { where: 'ends before it', endOf: () => 0 },
    { where: 'has grown past that since', endOf: (end: number) => end },
  ])(
    'says it again where the log was put back from before it meanwhile, and $where',
    async ({ endOf }) => {
      tenant = await filled();
      await asked();
      const { more, said } = await standing();
      const waiting = await turn(await claimed(), more);
      const { log } = app.deps;
      const isThere = () => said() > 1;
      const putBack: TurnDependencies['log'] = {
        ...log,
        ends: async (topic) => (await log.ends(topic)).map((end) => (isThere() ? end : endOf(end))),
        isTenantErased: (id) => isThere() && log.isTenantErased(id),
      };
      const done = await turn(await laterOwner(waiting, 0), { commands: more.commands, log: putBack });
      expect(done).toMatchObject({ state: 'done', done: many + 1 });
      // First, in the log that was put back, and at the end.
      expect(said()).toBe(3);
      await isGone();
    },
    120_000,
  );

  it('begins anew where the log was put back from before it while it went through it', async () => {
    tenant = await filled();
    await asked();
    const { more, said } = await standing();
    const { commands } = more;
    const jobs: TurnDependencies['jobs'] = {
      save({ mark, ...job }) {
        if (mark.next.kind === 'log' && mark.next.place > 5) throw new Error('killed');
        return app.deps.jobs.save({ ...job, mark });
      },
    };
    const first = await claimed();
    await expect(turn(first, { commands, jobs })).rejects.toThrow('killed');
    expect(said()).toBe(1);
    const { log } = app.deps;
    const putBack = { ...log, isTenantErased: (id: TenantId) => said() > 1 && log.isTenantErased(id) };
    expect(await turn(await laterOwner(first, 0), { commands, log: putBack })).toMatchObject({ state: 'done' });
    expect(said()).toBe(3);
    await isGone();
  }, 120_000);

  it('says how far it is while it goes on, and counts nothing twice when it is killed', async () => {
    tenant = await filled();
    await asked();
    const told: number[] = [];
    const noting = (isToDie: (done: number) => boolean): Partial<TurnDependencies> => ({
      jobs: {
        save(job) {
          if (isToDie(job.done)) return Promise.reject(new Error('killed'));
          told.push(job.done);
          return app.deps.jobs.save(job);
        },
      },
    });
    const first = await claimed();
    // With what it has counted saved and no more in hand, wherever in the log its notifications are: a tenant may have one partition number or two.
    const hasCounted = (done: number) => done > 0 && done === told.at(-1);
    await expect(turn(first, noting(hasCounted))).rejects.toThrow('killed');
    const toldByFirst = told.length;
    const job = await turn(
      await laterOwner(first, 0),
      noting(() => false),
    );
    expect(job).toMatchObject({ state: 'done', total: many, done: many + 1 });
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told[0]).toBe(0);
    expect(told[toldByFirst - 1]).toBeGreaterThan(0);
    expect(told.length - toldByFirst).toBeGreaterThan(1);
  }, 120_000);

  it('that can not be taken on leaves the jobs of its tenant as they are', async () => {
    tenant = await filled();
    const tenantId = tenant.id as TenantId;
    const of = { tenantId, actor: null, channel: 'IN_APP', recipient: 'user-1', total: 0, ratePerSecond: 500 } as const;
    const id = await startErasure({ ...app.deps, startJob: startJob(app.deps) })({ ...of, trace: noTrace });
    const add = () => Promise.reject(new Error('the store is away'));
    const failing = startTenantErasure({ ...app.deps, jobs: { ...app.deps.jobs, add } });
    await expect(failing(tenantId, many)).rejects.toThrow('away');
    expect(await app.deps.jobs.find(tenantId, id)).toMatchObject({ kind: 'erase', state: 'queued' });
    expect(await turn(await claimed())).toMatchObject({ id, state: 'done' });
  }, 120_000);

  it('is taken on where its tenant has as many jobs as it may have', async () => {
    tenant = await filled();
    const tenantId = tenant.id as TenantId;
    const of = { tenantId, kind: 'retry', filter: {}, ratePerSecond: 1, total: 0, trace: noTrace } as const;
    for (let n = 0; n < openJobsMax; n++) await startJob(app.deps)(of);
    const id = await asked();
    expect(await turn(await claimed())).toMatchObject({ id, kind: 'erase', state: 'done' });
    await isGone();
  }, 120_000);

  it('asked for once more while it runs is done twice: neither ends the other, which would end both', async () => {
    tenant = await filled();
    const first = await asked();
    const running = await claimed();
    const second = await asked();
    await eraseTenant(app.deps)(tenant.id as TenantId);
    expect(await turn(running)).toMatchObject({ id: first, state: 'done' });
    expect(await turn(await claimed())).toMatchObject({ id: second, state: 'done' });
    expect(await app.deps.jobs.find(tenant.id as TenantId, first as JobId)).toMatchObject({ state: 'done' });
    await isGone();
  }, 120_000);

  it('is refused where as many erasures of its tenant wait as may', async () => {
    tenant = await filled();
    const ids = new Set<unknown>();
    for (let n = 0; n < openJobsMax; n++) ids.add(await asked());
    expect(await asked()).toBeNull();
    for (let n = 0; n < openJobsMax; n++) ids.delete((await turn(await claimed())).id);
    expect(ids.size).toBe(0);
  }, 120_000);

  it('ends its keys, and hides it, before its work has begun', async () => {
    tenant = await filled();
    await asked();
    await eraseTenant(app.deps)(tenant.id as TenantId);
    expect((await app.deps.log.ends(retentionTopic)).length).toBeGreaterThan(0);
    expect(Object.keys(await eventsOf(tenant.id))).toEqual(['TenantErased']);
    await until(async () => (await tenant.withKey('GET', '/notify/inapp/user-1')).status === 401, {
      what: 'its key to end',
    });
    await turn(await claimed());
    await isGone();
  }, 120_000);

  it('writes over what files held of it', async () => {
    tenant = await filled();
    const marker = `x${tenant.id.slice(-20)}x`;
    await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: `about ${marker}` });
    await until(async () => (await tenant.withKey('GET', '/notify/inapp/ada')).body.notifications.length === 1, {
      what: 'the item',
    });
    await asked();
    await turn(await claimed());
    await isGone();
    for (const name of await readdir(app.folder))
      if (name.includes('.db'))
        expect([name, (await readFile(join(app.folder, name))).includes(marker)]).toEqual([name, false]);
  }, 120_000);
});
