// What tenants ask for in one call, in a world: the real store of jobs behind each process's connection, who asks, and what must hold of how it has ended.

import { openJobStore } from '../../src/adapters/sqlite/jobs/store.ts';
import { startJob } from '../../src/commands/start-job.ts';
import { stopJob } from '../../src/commands/stop-job.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import type { BatchId, NotificationId, TenantId } from '../../src/domain/ids.ts';
import type { Job, JobState } from '../../src/domain/job.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { statusOf } from '../../src/domain/notification.ts';
import { pagesPerSecond } from '../../src/jobs/limits.ts';
import type { JobStore, StoredJob } from '../../src/ports/job-store.ts';
import type { Random } from '../chaos/random.ts';
import { virtualMs } from './log.ts';
import type { Machine } from './machine.ts';
import type { JobPlan } from './plan.ts';
import type { StoreFaults } from './store.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { World } from './world.ts';

/** What all processes share. */
export interface SharedJobs {
  readonly store: JobStore;
  /** In the order in which they came to be there, also those whose callers don't know. */
  readonly added: Pick<StoredJob, 'id' | 'tenantId' | 'trace' | 'kind' | 'filter' | 'createdAt'>[];
  /** Those that aren't over, with their state. */
  readonly open: Map<string, JobState>;
  /** When a stop of one that wasn't over came to be there, virtual ms. */
  readonly stopAt: Map<string, number>;
  /** By the trace that all of its events carry. */
  readonly asked: Map<string, AskedJob>;
}

interface AskedJob {
  readonly plan: JobPlan;
  readonly tenantId: TenantId;
  readonly batchId: BatchId | null;
  readonly at: number;
  /** All that it might be for, as it was then. */
  readonly before: ReadonlyMap<NotificationId, NotificationFacts>;
}

export function createSharedJobs(): SharedJobs {
  const store = openJobStore({ path: ':memory:', logId: 'log' });
  return { store, added: [], open: new Map(), stopAt: new Map(), asked: new Map() };
}

/** As one process reaches it: a call may fail before it was served, or after it. */
export function createSimulatedJobs(by: {
  readonly machine: Machine;
  readonly shared: SharedJobs;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: StoreFaults;
}): JobStore {
  const { machine, shared, time, random, faults } = by;
  const { store } = shared;
  const ask = <T>(serve: () => Promise<T>): Promise<T> =>
    machine.ask(async () => {
      const fails = time.now < faults.failsUntil && random.between(1, faults.failOneIn) === 1;
      const isServed = !fails || random.between(0, 1) === 1;
      const answer = isServed ? await serve() : null;
      if (fails || answer === null) throw new Error('the store is away');
      return answer;
    });
  const noted = (job: StoredJob): StoredJob => {
    if (job.endedAt === null) shared.open.set(job.id, job.state);
    else shared.open.delete(job.id);
    return job;
  };
  const orNull = async <T>(found: Promise<T | null>) => ({ found: await found });

  return {
    add: (job) =>
      ask(async () => {
        const isAdded = await store.add(job);
        if (isAdded) shared.added.push(noted(job));
        return isAdded;
      }),
    find: async (tenantId, id) => (await ask(() => orNull(store.find(tenantId, id)))).found,
    listOpen: (tenantId) => ask(() => store.listOpen(tenantId)),
    askStop: async (tenantId, id, now) => {
      const stopped = async () => {
        const found = await store.askStop(tenantId, id, now);
        if (found !== null && noted(found).endedAt === null) shared.stopAt.set(id, time.now);
        return { found };
      };
      return (await ask(stopped)).found;
    },
    claim: async (now, leaseUntil) => (await ask(() => orNull(store.claim(now, leaseUntil)))).found,
    leasesAfter: (until) => ask(() => store.leasesAfter(until)),
    claimFrom: async (...of) => (await ask(() => orNull(store.claimFrom(...of)))).found,
    save: (job) => ask(async () => noted(await store.save(job))),
    standing: () => ask(() => store.standing()),
    removeAllBut: (tenantId, filter) =>
      ask(async () => {
        await store.removeAllBut(tenantId, filter);
        const ofTenant = shared.added.filter((one) => one.tenantId === tenantId);
        for (const { id } of ofTenant) if ((await store.find(tenantId, id)) === null) shared.open.delete(id);
      }),
    close: () => Promise.resolve(),
  };
}

/** Asks for what the plan wants, as the API does for its callers. */
export function createJobsClient(
  { plan, time, random, faults, witness }: World,
  { machine, shared }: { readonly machine: Machine; readonly shared: SharedJobs },
) {
  const store = createSimulatedJobs({ machine, shared, time, random, faults });
  const { clock } = machine;
  const start = startJob({ jobs: store, clock });
  const stop = stopJob({ jobs: store, clock });

  return async (wish: JobPlan): Promise<void> => {
    const tenantId = plan.tenants[wish.tenant]?.id ?? ('tnt_0' as TenantId);
    const batchId = batchIdOf(tenantId, wish.batch);
    const before = new Map([...witness.all()].filter(([, facts]) => isFor({ tenantId, batchId }, facts)));
    const traceparent = `job-${shared.asked.size}`;
    shared.asked.set(traceparent, { plan: wish, tenantId, batchId, at: time.now, before });
    const { kind, ratePerSecond, stopAfterMs } = wish;
    const filter = batchId === null ? {} : { batchId };
    const trace = { traceparent, tracestate: null, baggage: null };
    // Who isn't answered may have a job all the same.
    const id = await start({ tenantId, kind, filter, ratePerSecond, total: before.size, trace }).catch(() => null);
    if (id !== null && stopAfterMs !== null)
      time.after(stopAfterMs, () => void stop(tenantId, id).catch(() => undefined));
  };
}

export function batchIdOf(tenantId: TenantId, batch: number | null): BatchId | null {
  return batch === null ? null : (`batch_${tenantId}_${batch}` as BatchId);
}

function isFor({ tenantId, batchId }: Pick<AskedJob, 'tenantId' | 'batchId'>, facts: NotificationFacts): boolean {
  return facts.tenantId === tenantId && (batchId === null || facts.request?.batchId === batchId);
}

/** Those that aren't over. */
export function openJobsIn({ jobs }: World): string[] {
  return [...(jobs?.open ?? [])].map(([id, state]) => `the job ${id} is ${state}`);
}

/** Whether each has done what it was to do, to each notification once, and says so. */
export async function jobsWrongIn(world: World): Promise<string[]> {
  const { jobs } = world;
  const wrong: string[] = [];
  if (jobs === null) return wrong;
  for (const { id, tenantId, trace, kind } of jobs.added) {
    if (kind === 'erase') continue;
    const job = await jobs.store.find(tenantId, id);
    const asked = jobs.asked.get(trace.traceparent ?? '');
    if (job === null || asked === undefined) wrong.push(`the job ${id} is gone`);
    else
      wrong.push(
        ...wrongOf(world, job, asked).map((what) => `${trace.traceparent} (${job.kind}, ${job.state}): ${what}`),
      );
  }
  return wrong;
}

type Said = Extract<DomainEvent, { readonly type: 'RetryRequested' | 'CancelRequested' }>;
interface Own {
  readonly event: Said;
  readonly at: number;
}

function wrongOf(world: World, job: StoredJob, asked: AskedJob): string[] {
  const own = ownOf(world, job);
  const all = [...world.witness.all()].filter(([, facts]) => isFor(asked, facts)).map(([, facts]) => facts);
  const { done, skipped, failed } = job;
  const wrong: string[] = [];
  if (job.state !== 'done' && job.state !== 'stopped') wrong.push('it was given up');
  for (const [id, events] of Map.groupBy(own, ({ event }) => event.notificationId))
    if (new Set(events.map(({ event }) => event.eventId)).size > 1) wrong.push(`${id} was asked for twice`);
  if (done + skipped + failed > all.length) wrong.push(`${done} + ${skipped} + ${failed} of ${all.length}`);
  if (world.plan.faults.length === 0 && failed > 0) wrong.push(`${failed} have failed though nothing went wrong`);
  wrong.push(...stopWrongIn(world, job, own), ...rateWrongIn(world, job, own));
  return [...wrong, ...(job.kind === 'retry' ? retriesWrongIn : cancelsWrongIn)(world, job, asked, own, all)];
}

function ownOf({ brokers }: World, { kind, trace }: Job): Own[] {
  const type = kind === 'retry' ? 'RetryRequested' : 'CancelRequested';
  return brokers.all.flatMap(({ event, appendedAt }) =>
    event?.type === type && event.traceparent === trace.traceparent ? [{ event, at: virtualMs(appendedAt) }] : [],
  );
}

function retriesWrongIn(
  { brokers, plan }: World,
  { state, done, trace, endedAt }: Job,
  { before }: AskedJob,
  own: readonly Own[],
  all: readonly NotificationFacts[],
): string[] {
  const wrong: string[] = [];
  const ids = new Set(all.map(({ id }) => id));
  const mine = new Set(own.map(({ event }) => event.notificationId)).size;
  const others = new Set(
    brokers.all.flatMap(({ event }) =>
      event?.type === 'RetryRequested' && ids.has(event.notificationId) && event.traceparent !== trace.traceparent
        ? [event.notificationId]
        : [],
    ),
  ).size;
  // What came to be in the log after a stop had been looked at isn't counted.
  const mayBeLate = state === 'stopped' && plan.faults.length > 0;
  if (done < mine && !mayBeLate) wrong.push(`${done} are said to be done, ${mine} were`);
  if (done > mine + others) wrong.push(`${done} are said to be done, ${mine} were, and ${others} by others`);
  if (state !== 'done') return wrong;
  const after = new Map(all.map((facts) => [facts.id, facts]));
  for (const [id, facts] of before) {
    const now = after.get(id) ?? facts;
    // Its last attempt was made twice, and the other one got through.
    const isDelivered = statusOf(now) === 'DELIVERED';
    // Its last attempt was made twice, and by the other one's outcome it went on.
    const wentOn = now.round === facts.round && now.attempts.length > facts.attempts.length;
    // By the clock of whoever looked.
    const isTooLate = (facts.request?.expiresAt ?? Infinity) <= (endedAt ?? 0) + plan.clocksMs;
    if (statusOf(facts) === 'FAILED' && now.round <= facts.round && !isDelivered && !wentOn && !isTooLate)
      wrong.push(`${id} had failed when it was asked for, and was not sent again`);
  }
  return wrong;
}

function cancelsWrongIn(
  { brokers }: World,
  { state, done, failed, endedAt }: Job,
  { before, at }: AskedJob,
  own: readonly Own[],
  all: readonly NotificationFacts[],
): string[] {
  const wrong: string[] = [];
  const cancelled = all.filter((facts) => statusOf(facts) === 'CANCELLED');
  const eventsOf = Map.groupBy(brokers.all, ({ event }) =>
    event !== null && 'notificationId' in event ? event.notificationId : null,
  );
  // It was cancelled where an attempt of it was under way elsewhere, which got through.
  const delivered = all.filter(
    (facts) =>
      statusOf(facts) === 'DELIVERED' &&
      eventsOf.get(facts.id)?.some(({ event }) => event?.type === 'NotificationCancelled') === true,
  );
  if (done > cancelled.length + delivered.length)
    wrong.push(`${done} are said to be cancelled, ${cancelled.length} are, and ${delivered.length} were`);
  const byThis = cancelled.filter(({ id }) => {
    const events = eventsOf.get(id) ?? [];
    const first = events.findIndex(({ event }) => own.some((one) => one.event === event));
    return first >= 0 && events.slice(first).every(({ event }) => cancelling.has(event?.type ?? ''));
  });
  if (state === 'done' && done + failed < byThis.length)
    wrong.push(`${done} are said to be cancelled and ${failed} undecided, ${byThis.length} were cancelled by it`);
  if (state !== 'done') return wrong;
  for (const [id, facts] of before) {
    const isWaiting = statusOf(facts) === 'SCHEDULED' || statusOf(facts) === 'RETRYING';
    const hasMoved = (eventsOf.get(id) ?? []).some(({ appendedAt }) => {
      const when = virtualMs(appendedAt);
      return when >= at && when <= virtualMs(endedAt ?? 0);
    });
    if (isWaiting && !hasMoved) wrong.push(`${id} waited all the time, and nobody asked for its cancel`);
  }
  return wrong;
}

const cancelling: ReadonlySet<string> = new Set(['CancelRequested', 'NotificationCancelled']);

/** The page that is in hand is finished, by its owner and by who slept over it. */
function stopWrongIn({ jobs }: World, job: StoredJob, own: readonly Own[]): string[] {
  const stopAt = jobs?.stopAt.get(job.id);
  if (stopAt === undefined) return [];
  const later = new Set(own.filter(({ at }) => at > stopAt).map(({ event }) => event.notificationId)).size;
  return later > 2 * pageOf(job) ? [`${later} were begun after it was to stop`] : [];
}

/** Pages begin at its rate: those between the first and the last of three take their time. */
function rateWrongIn({ plan }: World, job: StoredJob, own: readonly Own[]): string[] {
  if (plan.faults.length > 0) return [];
  const span = 3 * pageOf(job);
  const pageMs = (pageOf(job) * 1000) / job.ratePerSecond;
  return own.flatMap(({ at }, n) => {
    const last = own[n + span];
    return last !== undefined && last.at - at < pageMs ? [`${span + 1} in ${last.at - at} ms`] : [];
  });
}

function pageOf({ ratePerSecond }: Job): number {
  return Math.ceil(ratePerSecond / pagesPerSecond);
}
