// Many tenants that have much to do for long, on one number or in one lane's memory: nobody else waits for them, and of them nothing is lost or sent twice.

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { createMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { DeliveryDeferred, DeliveryDue, NotificationRequested } from '../../src/domain/events.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import { accountLimits } from '../../src/dispatchers/partition-account.ts';
import { workTopic } from '../../src/domain/topics.ts';
import type { RateLimitDecision } from '../../src/ports/rate-limiter.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable, settingsOf } from './harness.ts';
import type { DispatcherProcess, ProcessOptions, Send, World } from './harness.ts';
import { due, requested } from './work-events.ts';

jest.setTimeout(120_000);
let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const retryPolicy = fixedRetryPolicy([7_200_000, 7_200_000]);
const pauseMs = 3_600_000;
const isPaused = (tenant: string) => tenant.startsWith('tnt_paused');
const send: Send = async ({ tenantId }) => (isPaused(tenantId) ? retryable(pauseMs) : delivered);
const deferrals = () => world.said.filter((event): event is DeliveryDeferred => event.type === 'DeliveryDeferred');
const hasAnswered = (event: NotificationRequested) =>
  outcomesOf(world.said).some(({ causeId }) => causeId === event.eventId);

/** A mail of a tenant's on one of these numbers; null: it has none of them. */
function mailOn(isOn: (partition: number) => boolean, tenant: string, body = 10): NotificationRequested | null {
  for (let tries = 0; tries < 30; tries++) {
    const one = requested({
      tenant,
      channel: 'EMAIL',
      priority: 'BULK',
      recipient: 'ada@example.com',
      body: 'x'.repeat(body),
    });
    if (isOn(one.partition)) return one;
  }
  return null;
}

/** What so many tenants have of it, of those that have it. */
function ofTenants<T>(count: number, kind: string, make: (tenant: string) => T | null): T[] {
  const made: T[] = [];
  for (let i = 0; made.length < count; i++) {
    const one = make(`tnt_${kind}_${i}`);
    if (one !== null) made.push(one);
  }
  return made;
}

it('more paused tenants than may lag on a number stop nobody there: what waits of them is deferred, the rest is sent after a restart', async () => {
  const partition = 5;
  const on = (tenant: string, body?: number) => mailOn((of) => of === partition, tenant, body);
  const first = await world.run({ channel: 'EMAIL', send, retryPolicy });
  const pausing = ofTenants(70, 'paused', on);
  await world.append(pausing);
  await until(() => outcomesOf(world.said).length === pausing.length, { what: 'the pauses' });
  const pausedAt = Date.now();
  // Each more than its share of the lane's memory.
  const backlog = Array.from({ length: 10 }, () => pausing.map(({ tenantId }) => on(tenantId, 10_000)));
  const waiting = backlog.flat().filter((one) => one !== null);
  await world.append(waiting);
  for (const healthy of ofTenants(3, 'healthy', on)) {
    await world.append([healthy]);
    await until(() => hasAnswered(healthy), { what: "another's mail" });
  }
  await until(() => deferrals().some(({ reason }) => reason === 'breaker'));
  for (const { reason, tenantId, dueAt, attempt } of deferrals()) {
    expect([isPaused(tenantId), attempt]).toEqual([true, 1]);
    // What there was no room for doesn't know of the pause.
    if (reason === 'window') continue;
    expect(reason).toBe('breaker');
    expect(dueAt).toBeGreaterThanOrEqual(pausedAt + pauseMs - 60_000);
    expect(dueAt).toBeLessThan(Date.now() + 1.25 * pauseMs);
  }
  await first.dispatcher.stop();
  const second = await world.run({ channel: 'EMAIL', retryPolicy });
  const isSettled = () => second.sends.length + deferrals().length >= waiting.length;
  await until(isSettled, { what: 'what was not deferred' });
  const settled = [...second.sends, ...deferrals()].map(({ notificationId }) => notificationId);
  expect(settled.toSorted()).toEqual(waiting.map(({ notificationId }) => notificationId).toSorted());
});

it('fewer of them than may nearly lag wait where they are, and nothing is written of them', async () => {
  const partition = 5;
  const on = (tenant: string, body?: number) => mailOn((of) => of === partition, tenant, body);
  await world.run({ channel: 'EMAIL', send, retryPolicy });
  const pausing = ofTenants(40, 'paused', on);
  await world.append(pausing);
  await until(() => outcomesOf(world.said).length === pausing.length, { what: 'the pauses' });
  const backlog = Array.from({ length: 16 }, () => pausing.map(({ tenantId }) => on(tenantId, 10_000)));
  await world.append(backlog.flat().filter((one) => one !== null));
  for (const healthy of ofTenants(3, 'healthy', on)) {
    await world.append([healthy]);
    await until(() => hasAnswered(healthy), { what: "another's mail" });
  }
  expect(deferrals()).toEqual([]);
});

it('where all the memory of a lane is held by paused tenants, so much of it is deferred that others find room', async () => {
  const answers = Promise.withResolvers<DeliveryOutcome>();
  await world.run({
    channel: 'EMAIL',
    send: async ({ tenantId }) => (isPaused(tenantId) ? answers.promise : delivered),
    retryPolicy,
    limits: { inFlightPerTenantProviderMax: 1 },
  });
  // One that is under way on one of its numbers, and the first on its other, which may take of the reserve.
  const pairs = ofTenants(28, 'paused', (tenant) => {
    const small = mailOn(() => true, tenant);
    const large = mailOn((of) => of !== small?.partition, tenant, 100_000);
    return small === null || large === null ? null : [small, large];
  });
  for (const i of [0, 1]) await world.append(pairs.flatMap((pair) => pair[i] ?? []));
  const large = mailOn(() => true, 'tnt_healthy', 190_000);
  if (large === null) throw new Error('there is none');
  await world.append([large]);
  answers.resolve(retryable(pauseMs));
  await until(() => hasAnswered(large), { what: "another's mail" });
  expect(deferrals().length).toBeGreaterThan(0);
});

describe('more tenants than may lag on a number', () => {
  const partition = 5;
  const topic = workTopic('EMAIL', 'BULK');
  const on = (tenant: string, body?: number) => mailOn((of) => of === partition, tenant, body);
  const isCrowd = (tenant: string) => tenant.startsWith('tnt_crowd');
  const limits = { inFlightMax: 256, inFlightPerTenantProviderMax: 1 };

  const dueOf = (of: DeliveryDeferred): DeliveryDue =>
    due({ ...of, type: 'NotificationRequested' }, of.attempt, of.firstAttempt, of.dueAt);

  /** What is deferred comes back at its time, as the scheduler has it. */
  function schedule(): () => void {
    let seen = 0;
    const timers = new Set<NodeJS.Timeout>();
    const looks = setInterval(() => {
      for (const event of world.said.slice(seen)) {
        seen++;
        if (event.type !== 'DeliveryDeferred') continue;
        timers.add(setTimeout(() => void world.append([dueOf(event)]), event.dueAt - Date.now()));
      }
    }, 20);
    return () => {
      clearInterval(looks);
      for (const timer of timers) clearTimeout(timer);
    };
  }

  /** Each has more than its share of the lane's memory, and others have something behind all that. */
  async function behindTheCrowd(
    each: number,
    options: ProcessOptions,
  ): Promise<{ first: DispatcherProcess; crowd: NotificationRequested[] }> {
    const first = await world.run({ channel: 'EMAIL', limits, ...options });
    const tenants = ofTenants(70, 'crowd', on).map(({ tenantId }) => tenantId);
    const crowd: NotificationRequested[] = [];
    for (let round = 0; round < each; round++) {
      const all = tenants.map((tenant) => on(tenant, 10_000)).filter((one) => one !== null);
      await world.append(all);
      crowd.push(...all);
    }
    for (const healthy of ofTenants(3, 'healthy', on)) {
      await world.append([healthy]);
      await until(() => hasAnswered(healthy), { what: "another's mail", timeoutMs: 1_500 });
    }
    return { first, crowd };
  }

  /** Each was sent once, and nothing of it is left. */
  async function expectAllSent(crowd: readonly NotificationRequested[], processes: readonly DispatcherProcess[]) {
    const sent = () => processes.flatMap(({ sends }) => sends).filter(({ tenantId }) => isCrowd(tenantId));
    await until(() => sent().length >= crowd.length, { what: 'the mails of all', timeoutMs: 90_000 });
    const idsOf = (of: readonly { readonly notificationId: string }[]) =>
      of.map(({ notificationId }) => notificationId).toSorted();
    expect(idsOf(sent())).toEqual(idsOf(crowd));
    await until(async () => {
      const position = (await world.log.committed('dispatcher-email', topic))[partition];
      return position?.offset === (await world.log.ends(topic))[partition] && position?.metadata === '';
    });
  }

  it('stop nobody there by their rates: each is sent at its own, over a restart', async () => {
    const stop = schedule();
    const rated: ProcessOptions = {
      directory: {
        provider: async (tenantId) => ({
          ...settingsOf(tenantId, 'EMAIL'),
          config: isCrowd(tenantId) ? { maxPerSecond: 1 } : {},
        }),
      },
      limiter: createMemoryRateLimiter(),
    };
    const { first, crowd } = await behindTheCrowd(12, rated);
    const begunAt = Date.now();
    expect(deferrals().length).toBeGreaterThan(0);
    for (const { reason, tenantId, dueAt, attempt } of deferrals()) {
      expect([reason, isCrowd(tenantId), attempt]).toEqual(['window', true, 1]);
      expect(dueAt).toBeLessThan(begunAt + 1.25 * 30_000);
    }
    await first.dispatcher.stop();
    const second = await world.run({ channel: 'EMAIL', limits, ...rated });
    await expectAllSent(crowd, [first, second]);
    stop();
  });

  it('stop nobody there by their receivers, however slow', async () => {
    const stop = schedule();
    const opened = Promise.withResolvers<void>();
    const slow: Send = async ({ tenantId }) => {
      if (isCrowd(tenantId)) await opened.promise;
      return delivered;
    };
    const { first, crowd } = await behindTheCrowd(10, { send: slow });
    expect(first.sends.filter(({ tenantId }) => isCrowd(tenantId))).toHaveLength(70);
    opened.resolve();
    await expectAllSent(crowd, [first]);
    stop();
  });

  it('leave the window of a number, where it is full of what comes behind them', async () => {
    const account = { ...accountLimits, eventsMax: 20, laggardsMax: 0 };
    const used: RateLimitDecision = { allowed: false, remaining: 0, resetMs: 60_000 };
    const { sends } = await world.run({
      channel: 'EMAIL',
      limits: { account },
      directory: {
        provider: async (tenantId) => ({
          ...settingsOf(tenantId, 'EMAIL'),
          config: isCrowd(tenantId) ? { maxPerSecond: 1 } : {},
        }),
      },
      limiter: { pace: async () => used },
    });
    const [crowd, healthy] = [ofTenants(3, 'crowd', on), ofTenants(3, 'healthy', on)];
    await world.append(crowd);
    const others = Array.from({ length: 200 }, (_, i) => on(healthy[i % 3]?.tenantId ?? '')).filter(
      (one) => one !== null,
    );
    for (const one of others) await world.append([one]);
    await until(() => others.every(hasAnswered), { what: "the others' mails", timeoutMs: 10_000 });
    expect(sends).toHaveLength(others.length);
    expect(deferrals().map(({ reason, tenantId }) => [reason, isCrowd(tenantId)])).toEqual(
      crowd.map(() => ['window', true]),
    );
  });

  it('have what is not to be sent any more ended as ever, where it would leave', async () => {
    const opened = Promise.withResolvers<void>();
    const erased = new Set<string>();
    const { first } = await behindTheCrowd(8, {
      send: async ({ tenantId }) => (isCrowd(tenantId) ? opened.promise.then(() => delivered) : delivered),
      wrapLog: (log) => ({ ...log, isErased: (id) => erased.has(id) }),
    });
    const [one, other] = deferrals().map(dueOf);
    if (one === undefined || other === undefined) throw new Error('none was put off');
    erased.add(other.notificationId);
    const late = { ...one, request: { ...one.request, expiresAt: Date.now() - 1 } };
    await world.append([late, other]);
    const saidOf = ({ eventId }: DeliveryDue) =>
      world.said.filter((said) => 'causeId' in said && said.causeId === eventId);
    await until(() => saidOf(late).length + saidOf(other).length === 2);
    expect(saidOf(late)).toMatchObject([{ type: 'AttemptFailed', failureClass: 'expired' }]);
    expect(saidOf(other)).toMatchObject([{ type: 'NotificationCancelled' }]);
    expect(
      first.sends.some(({ notificationId }) => [late, other].some((of) => of.notificationId === notificationId)),
    ).toBe(false);
    opened.resolve();
  });
});
