// The erasure of a recipient as a job: killed at any step it comes to its end, names everything, and touches nobody else.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { markInboxRead } from '../../src/commands/mark-inbox-read.ts';
import { startErasure } from '../../src/commands/start-erasure.ts';
import { startJob } from '../../src/commands/start-job.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import { allTopics, inboxPartition, settingsTopic } from '../../src/domain/topics.ts';
import { erasing } from '../../src/jobs/erasing.ts';
import type { TurnDependencies } from '../../src/jobs/turn.ts';
import { takeTurn } from '../../src/jobs/turn.ts';
import type { EventLog, Position } from '../../src/ports/event-log.ts';
import type { StoredJob } from '../../src/ports/job-store.ts';
import type { InboxItemDocument } from '../../src/projections/inbox/documents.ts';
import { itemsCollection } from '../../src/projections/inbox/documents.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const leaseMs = 20_000;
const waitMaxMs = 60_000;
const many = 150;
let app: App;
let tenant: Tenant;
let tenants = 0;

beforeAll(async () => {
  app = await startApp({ runsJobs: false });
}, 240_000);
afterAll(() => app.close());

/** A tenant of its own whose recipient `ada` has many items, and `bob` one. */
async function filled(): Promise<void> {
  tenant = await app.tenant(`tenant-${tenants++}`);
  const item = (recipient: string) => ({ channel: 'IN_APP', recipient, subject: 'Hi', body: `to ${recipient}` });
  const notifications = [...Array.from({ length: many }, () => item('ada')), item('bob')];
  const { body } = await tenant.withKey('POST', '/notify/batch', { notifications });
  const delivered = async () => (await tenant.withKey('GET', `/notify/batch/${body.batchId}`)).body.statusCounts;
  await until(async () => (await delivered()).DELIVERED === many + 1, { timeoutMs: waitMaxMs, what: 'all delivered' });
}

const suppressed = () => tenant.dashboard('POST', '/suppressions', { channel: 'IN_APP', recipient: 'ada' });

/** @param behindMs how far its process' clock is behind */
const asked = (recipient = 'ada', channel: 'IN_APP' | 'SMS' = 'IN_APP', behindMs = 0) => {
  const of = { tenantId: tenant.id as TenantId, channel, recipient, actor: 'ada', total: 0, ratePerSecond: 500 };
  const { jobs, clock } = app.deps;
  const start = startJob({ jobs, clock: { ...clock, now: () => clock.now() - behindMs } });
  return startErasure({ ...app.deps, startJob: start })({ ...of, trace: noTrace });
};
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
const laterOwner = (job: StoredJob) => claimed((job.leaseUntil ?? 0) + 60_000);
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

const recipients = async () => {
  const { data } = (await tenant.dashboard('GET', '/notifications?limit=100')).body;
  return (data as readonly { readonly recipient: string }[]).map(({ recipient }) => recipient);
};
const inboxOf = async (user: string) => (await tenant.withKey('GET', `/notify/inapp/${user}`)).body.notifications;

async function isForgotten(): Promise<void> {
  expect(new Set(await recipients())).toEqual(new Set(['', 'bob']));
  expect((await tenant.dashboard('GET', '/notifications?recipient=ada')).body.data).toEqual([]);
  expect((await tenant.dashboard('GET', '/suppressions')).body.data).toEqual([]);
  expect(await inboxOf('ada')).toEqual([]);
  expect(await inboxOf('bob')).toMatchObject([{ body: 'to bob' }]);
  expect((await tenant.dashboard('GET', '/dashboard/stats?range=all')).body.total).toBe(many + 1);
}

describe('an erasure', () => {
  it('names every notification once, and is done', async () => {
    await filled();
    await suppressed();
    await asked();
    const job = await turn(await claimed());
    expect(job).toMatchObject({ kind: 'erase', state: 'done', done: many, skipped: 0, failed: 0, filter: {} });
    await isForgotten();
    const named: NotificationId[] = [];
    const ends = await app.deps.log.ends(settingsTopic);
    for (const [partition, to] of ends.entries())
      for await (const { event } of app.deps.log.read({ topic: settingsTopic, partition, from: 0, to }))
        if (event?.type === 'RecipientErased' && event.tenantId === tenant.id) named.push(...event.notificationIds);
    expect([named.length, new Set(named).size]).toEqual([many, many]);
  }, 120_000);

  it('asked for where the clock is behind: what was there is erased, and nothing that came after', async () => {
    await filled();
    await asked('ada', 'IN_APP', 3_600_000);
    await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'afterwards' });
    await until(async () => (await inboxOf('ada'))[0]?.body === 'afterwards', { what: 'the item of afterwards' });
    expect(await turn(await claimed())).toMatchObject({ state: 'done', done: many });
    await until(async () => (await inboxOf('ada')).length === 1, { what: 'the others to be gone' });
    expect(await inboxOf('ada')).toMatchObject([{ body: 'afterwards' }]);
    expect((await tenant.dashboard('GET', '/notifications?recipient=ada')).body.data).toHaveLength(1);
  }, 120_000);

  it.each([1, 2, 3, 4])(
    'killed before write %d of its mark is finished by the next owner',
    async (n) => {
      await filled();
      await suppressed();
      await asked();
      const first = await claimed();
      await expect(turn(first, dyingAt(n))).rejects.toThrow('killed');
      expect(await turn(await laterOwner(first))).toMatchObject({ state: 'done', done: many, epoch: 2 });
      await isForgotten();
    },
    120_000,
  );

  it('keeps its lease while files are overwritten, however long that takes', async () => {
    await filled();
    await asked();
    const { clock, jobs } = app.deps;
    const sleeps: { wake(): void }[] = [];
    let [aheadMs, isScrubbing] = [0, false];
    const now = () => clock.now() + aheadMs;
    const sleep = (ms: number, signal?: AbortSignal) =>
      isScrubbing
        ? new Promise<void>((wake) => {
            sleeps.push({ wake });
            signal?.addEventListener('abort', () => wake());
          })
        : clock.sleep(ms, signal);
    const held = await claimed();
    const leaseUntil = async () => (await jobs.find(tenant.id as TenantId, held.id))?.leaseUntil ?? 0;
    const taken: (StoredJob | null)[] = [];
    const scrub = async () => {
      isScrubbing = true;
      for (const end = now() + 3 * leaseMs; now() < end;) {
        await until(() => sleeps.length > 0, { timeoutMs: 5000, what: 'whoever prolongs the lease' });
        const before = await leaseUntil();
        aheadMs += leaseMs / 2;
        for (const { wake } of sleeps.splice(0)) wake();
        await until(async () => (await leaseUntil()) > before, { timeoutMs: 5000, what: 'a longer lease' });
        taken.push(await jobs.claim(now(), now() + leaseMs));
      }
      isScrubbing = false;
    };
    const bytes = { ...app.bytes, scrub };
    expect(await turn(held, { bytes, clock: { ...clock, now, sleep } })).toMatchObject({ state: 'done', epoch: 1 });
    expect(new Set(taken)).toEqual(new Set([null]));
  }, 120_000);

  it('stopped while files are overwritten is done by the next owner, who overwrites them anew', async () => {
    await filled();
    await asked();
    const stopping = new AbortController();
    const scrub = async (signal: AbortSignal) => {
      stopping.abort();
      signal.throwIfAborted();
    };
    const stopped = await turn(await claimed(), { bytes: { ...app.bytes, scrub }, signal: stopping.signal });
    expect(stopped).toMatchObject({ state: 'queued', done: many });
    let scrubs = 0;
    const again = async () => void scrubs++;
    expect(await turn(await claimed(), { bytes: { ...app.bytes, scrub: again } })).toMatchObject({ state: 'done' });
    expect(scrubs).toBe(1);
  }, 120_000);

  it('holds nobody in plain: neither while it waits nor once it is over', async () => {
    await filled();
    const id = await asked('+4915112345678', 'SMS');
    const waiting = await app.deps.jobs.find(tenant.id as TenantId, id);
    expect(JSON.stringify(waiting)).not.toContain('15112345678');
    await turn(await claimed());
    expect(await app.deps.jobs.find(tenant.id as TenantId, id)).toMatchObject({ state: 'done', filter: {} });
  }, 60_000);

  it('looks into each partition of its tenant, and reads nothing twice', async () => {
    await filled();
    await asked('nobody');
    const read: string[] = [];
    const looked = new Set<string>();
    const { log } = app.deps;
    const noting: Partial<TurnDependencies> = {
      log: {
        ...log,
        ends(topic) {
          looked.add(topic);
          return log.ends(topic);
        },
        read(range) {
          read.push(`${range.topic} ${range.partition} ${range.from}`);
          return log.read(range);
        },
      },
    };
    expect(await turn(await claimed(), noting)).toMatchObject({ state: 'done', done: 0 });
    expect([...looked].toSorted()).toEqual([...allTopics].toSorted());
    expect(read.length).toBeGreaterThan(2);
    expect(new Set(read).size).toBe(read.length);
  }, 60_000);

  it("leaves what was requested after it was asked for, and other tenants' of the same name", async () => {
    await filled();
    const other = await app.tenant(`tenant-${tenants++}`);
    await other.notify({ channel: 'IN_APP', recipient: 'ada', body: 'of another tenant' });
    await asked();
    await app.deps.clock.sleep(5);
    await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'afterwards' });
    await turn(await claimed());
    await until(async () => (await inboxOf('ada')).length === 1, { what: 'the item of afterwards' });
    expect(await inboxOf('ada')).toMatchObject([{ body: 'afterwards' }]);
    const theirs = (await other.withKey('GET', '/notify/inapp/ada')).body.notifications;
    expect(theirs).toMatchObject([{ body: 'of another tenant' }]);
  }, 120_000);

  it.each(['alone', 'with what was not forgotten'])(
    'names an item that was read %s while retention ended it, of which no record tells',
    async (how) => {
      tenant = await app.tenant(`tenant-${tenants++}`);
      const sent = async () => {
        const { body } = await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'to be read' });
        return body.notificationId as NotificationId;
      };
      const [gone, left] = [await sent(), await sent()];
      await until(async () => (await inboxOf('ada')).length === 2, { what: 'both items' });
      await forgotten(gone);
      await readAfterwards(how === 'alone' ? [gone] : [gone, left]);
      await until(async () => (await itemOf(gone))?.recipient === 'ada', { what: 'the item that only reading made' });
      await asked();
      expect(await turn(await claimed())).toMatchObject({ state: 'done' });
      await until(async () => (await itemOf(gone)) === undefined, { what: 'the item to be gone' });
    },
    60_000,
  );
});

it('reads through an erased tenant’s events in bounded steps, too: the lease ends within a stretch of theirs that is long', async () => {
  tenant = await app.tenant(`tenant-${tenants++}`);
  await asked();
  const job = await claimed();
  const { log } = app.deps;
  const stretched: Pick<EventLog, 'ends' | 'read' | 'partitioning' | 'isTenantErased'> = {
    partitioning: log.partitioning,
    isTenantErased: (id) => id === 'tnt_gone',
    ends: async () => Array.from({ length: log.partitioning.partitions }, () => 20_000),
    async *read({ topic, partition, from, to, ofErased }) {
      const head = { ...envelope('of it'), tenantId: 'tnt_gone' as TenantId, type: 'InboxRead' as const };
      if (ofErased !== 'shown') return;
      for (let offset = from; offset < to; offset++)
        yield { topic, partition, offset, appendedAt: 0, size: 1, head, event: null, undecodable: null };
    },
  };
  const work = erasing({ ...app.deps, commands: app.commands, bytes: null, log: stretched });
  const read = await work.readOn?.(job, { kind: 'log', place: 0, offset: 0 }, async () => true);
  expect(read?.next).toMatchObject({ kind: 'log', place: 0 });
  expect(read?.next).not.toMatchObject({ offset: 0 });
  await app.deps.jobs.save({ ...job, state: 'done', endedAt: Date.now() });
});

const itemOf = async (id: string) => (await app.deps.reader.get<InboxItemDocument>(itemsCollection.name, [id])).get(id);
const envelope = (name: string) => ({
  eventId: eventIdFrom(name, tenant.id),
  occurredAt: Date.now(),
  tenantId: tenant.id as TenantId,
  traceparent: null,
});

/** As retention ends it, its events in the log too. */
async function forgotten(id: NotificationId): Promise<void> {
  const nothing = { batchIds: [], kept: [], endedDays: [], follows: null };
  const partition = inboxPartition(tenant.id as TenantId, 'ada', app.deps.log.partitioning);
  // Ahead of whatever else was forgotten there.
  const sequence = 1000 + tenants;
  const event = { ...envelope('forgotten'), ...nothing, partition, sequence, notificationIds: [id] };
  expect(await app.deps.log.append({ type: 'NotificationsForgotten', ...event })).toMatchObject({ kind: 'durable' });
  await until(async () => (await itemOf(id)) === undefined, { what: 'what is forgotten' });
  const told: Position[] = [];
  for (const topic of allTopics) {
    const to = (await app.deps.log.ends(topic))[partition] ?? 0;
    for await (const { event, offset } of app.deps.log.read({ topic, partition, from: 0, to }))
      if (event !== null && 'notificationId' in event && event.notificationId === id)
        told.push({ topic, partition, offset });
  }
  await app.bytes.remove(told);
}

async function readAfterwards(notificationIds: readonly NotificationId[]): Promise<void> {
  const markRead = markInboxRead(app.deps);
  await markRead({ tenantId: tenant.id as TenantId, recipient: 'ada', notificationIds });
}
