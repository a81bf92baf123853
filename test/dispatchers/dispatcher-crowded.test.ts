// Many tenants whose provider is paused, on one number or in one lane's memory: nobody else waits for them, and of them nothing is lost or sent twice.

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';

import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { DeliveryDeferred, NotificationRequested } from '../../src/domain/events.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable } from './harness.ts';
import type { Send, World } from './harness.ts';
import { requested } from './work-events.ts';

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
  await until(() => deferrals().length > 0);
  for (const { reason, tenantId, dueAt, attempt } of deferrals()) {
    expect([reason, isPaused(tenantId), attempt]).toEqual(['breaker', true, 1]);
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
