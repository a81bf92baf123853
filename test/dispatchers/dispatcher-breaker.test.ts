// A provider that fails, or asks for a pause, isn't called: what waits for it burns no attempt, takes no slot and is nobody else's delay.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createMetrics } from '../../src/adapters/node/metrics.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Channel, NotificationRequested } from '../../src/domain/events.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import type { TenantDirectory } from '../../src/ports/tenant-directory.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable, settingsOf } from './harness.ts';
import type { Send, World } from './harness.ts';
import { requested } from './work-events.ts';
import type { Wanted } from './work-events.ts';

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.close());

/** Long enough that nothing is given up while it waits, and no retry comes. */
const retryPolicy = fixedRetryPolicy([3_600_000, 3_600_000]);
const mails = (count: number, wanted: Wanted = {}): NotificationRequested[] =>
  Array.from({ length: count }, () => requested({ channel: 'EMAIL', recipient: 'ada@example.com', ...wanted }));

/** What the test says now, of each tenant. */
function receivers() {
  const answers = new Map<string, DeliveryOutcome>();
  const send: Send = async ({ tenantId }) => answers.get(tenantId) ?? delivered;
  return { answers, send };
}

const deferrals = () => world.said.filter(({ type }) => type === 'DeliveryDeferred');

describe('a provider that is down', () => {
  it('is called by a few attempts, then by probes alone; all others wait unbegun and are sent when it is up', async () => {
    const { answers, send } = receivers();
    answers.set('tnt_a', retryable());
    // One at a time: what was in flight already when it went down isn't what is counted here.
    const limits = { inFlightPerTenantProviderMax: 1 };
    const { sends } = await world.run({ channel: 'EMAIL', send, retryPolicy, limits });
    const events = mails(60);
    await world.append(events);
    // Ten that open it, and two probes.
    await until(() => sends.length >= 12, { what: 'two probes' });
    answers.set('tnt_a', delivered);
    await until(() => outcomesOf(world.said).length === 60, { what: 'the others' });
    const failed = outcomesOf(world.said).filter(({ type }) => type === 'AttemptFailed');
    expect(failed.length).toBeLessThanOrEqual(13);
    expect(new Set(sends.map(({ notificationId }) => notificationId)).size).toBe(60);
    expect(sends).toHaveLength(60);
    expect(deferrals()).toEqual([]);
  });

  it("is nobody else's delay, in no lane, and takes none of the slots", async () => {
    const { answers, send } = receivers();
    answers.set('tnt_a', retryable(3_600_000));
    const { sends, dispatcher } = await world.run({ channel: 'EMAIL', send, retryPolicy, limits: { inFlightMax: 2 } });
    await world.append(mails(1));
    await until(() => outcomesOf(world.said).length === 1);
    await world.append(mails(300));
    await world.append(mails(50, { priority: 'HIGH' }));
    const others = Array.from({ length: 100 }, (_, i) => mails(1, { tenant: `tnt_${i}` })).flat();
    await world.append(others);
    await until(() => outcomesOf(world.said).length === 101, { what: "the others' mails" });
    // The pause is for all of it: one attempt was made, and nothing is in flight.
    expect(sends.filter(({ tenantId }) => String(tenantId) === 'tnt_a')).toHaveLength(1);
    await dispatcher.stop();
  });

  it('holds what waits over a restart: each is sent once', async () => {
    const { answers, send } = receivers();
    answers.set('tnt_a', retryable(3_600_000));
    const first = await world.run({ channel: 'EMAIL', send, retryPolicy });
    await world.append(mails(1));
    await until(() => outcomesOf(world.said).length === 1);
    await world.append(mails(40));
    await first.dispatcher.stop();
    const { sends } = await world.run({ channel: 'EMAIL', retryPolicy });
    await until(() => outcomesOf(world.said).length === 41);
    expect(sends).toHaveLength(40);
  });

  it('is measured by tenant and provider from when it went down, until it is up; a receiver of webhooks is not', async () => {
    const { answers, send } = receivers();
    const metrics = createMetrics({ processMetrics: false });
    const seconds = async () => {
      const lines = (await metrics.read())
        .split('\n')
        .filter((line) => line.startsWith('herald_breaker_open_seconds{'));
      return lines.map((line) => line.replace(/ \d.*$/, ''));
    };
    for (const tenant of ['tnt_a', 'tnt_b']) answers.set(tenant, retryable());
    for (const channel of ['EMAIL', 'WEBHOOK'] as const)
      await world.run({ channel, send, retryPolicy, metrics, limits: { inFlightPerTenantProviderMax: 1 } });
    await world.append([...mails(20), ...mails(20, { tenant: 'tnt_b' }), ...mails(20, { tenant: 'tnt_c' })]);
    await world.append(Array.from({ length: 20 }, () => requested({ channel: 'WEBHOOK' })));
    const opened = async () => /^herald_breakers\{.*WEBHOOK.*\} 1$/m.test(await metrics.read());
    await until(async () => (await seconds()).length === 2 && (await opened()), { what: 'three open ones' });
    const ofTenant = (tenant: string) =>
      `herald_breaker_open_seconds{channel="EMAIL",tenant="${tenant}",provider="fake"}`;
    expect((await seconds()).toSorted()).toEqual([ofTenant('tnt_a'), ofTenant('tnt_b')]);
    answers.set('tnt_a', delivered);
    await until(async () => (await seconds()).length === 1, { what: 'the one that is up' });
    expect(await seconds()).toEqual([ofTenant('tnt_b')]);
  });

  it('is no standstill: while its work waits the number is seen to be looked after, here and in its commits', async () => {
    const { answers, send } = receivers();
    answers.set('tnt_a', retryable(3_600_000));
    const { dispatcher } = await world.run({ channel: 'EMAIL', send, retryPolicy });
    const [first, ...others] = mails(6);
    if (first === undefined) throw new Error('there is none');
    await world.append([first]);
    await until(() => outcomesOf(world.said).length === 1);
    await world.append(others);
    const waiting = others[0] as NotificationRequested;
    const topic = 'notifications.email.default';
    const seen = async () => {
      const { partition } = waiting;
      const own = dispatcher.activity().find((one) => one.topic === topic && one.partition === partition);
      return { moves: own?.moves ?? 0, committed: JSON.stringify(await world.committed(waiting, topic)) };
    };
    const before = await seen();
    const texts = new Set<string>();
    await until(
      async () => {
        const { moves, committed } = await seen();
        return texts.add(committed).size > 1 && moves >= before.moves + 2;
      },
      { what: 'two looks' },
    );
  });

  it('is called again at once when its tenant saves it anew', async () => {
    const { answers, send } = receivers();
    let updatedAt = 1;
    const provider: TenantDirectory['provider'] = async (tenantId) => ({ ...settingsOf(tenantId, 'EMAIL'), updatedAt });
    answers.set('tnt_a', retryable(3_600_000));
    await world.run({ channel: 'EMAIL', send, retryPolicy, directory: { provider } });
    await world.append(mails(1));
    await until(() => outcomesOf(world.said).length === 1);
    await world.append(mails(5));
    answers.set('tnt_a', delivered);
    updatedAt = 2;
    await until(() => outcomesOf(world.said).length === 6, { timeoutMs: 30_000 });
  });

  it('that never comes back holds nothing for longer than its retries would have taken', async () => {
    const send: Send = async () => retryable();
    const { sends } = await world.run({ channel: 'EMAIL', send, retryPolicy: fixedRetryPolicy([500, 500]) });
    await world.append(mails(200));
    await until(() => outcomesOf(world.said).length === 200, { timeoutMs: 60_000 });
    expect(sends).toHaveLength(200);
  });

  it('that refuses credentials, or the message, is up: nothing waits, and its tenant sees it at once', async () => {
    const reason = { failureClass: 'credentials' as const, code: '401', message: 'no such key' };
    const { sends } = await world.run({
      channel: 'EMAIL',
      send: async () => ({ kind: 'rejected', reason }),
      retryPolicy,
    });
    await world.append(mails(40));
    await until(() => outcomesOf(world.said).length === 40);
    expect(sends).toHaveLength(40);
    expect(outcomesOf(world.said).every((said) => said.type === 'AttemptFailed' && said.retryAt === null)).toBe(true);
  });

  it('that refuses recipients for now is up: the others are sent, and each of these is tried again', async () => {
    const reason = { failureClass: 'recipient' as const, code: '450', message: 'greylisted' };
    const refused = (retryAfterMs: number | null): DeliveryOutcome => ({ kind: 'retryable', reason, retryAfterMs });
    let answer = refused(null);
    const { sends } = await world.run({ channel: 'EMAIL', send: async () => answer, retryPolicy });
    await world.append(mails(40));
    await until(() => outcomesOf(world.said).length === 40);
    expect(sends).toHaveLength(40);
    for (const said of outcomesOf(world.said)) expect(said).toMatchObject({ retryAt: expect.any(Number) });
    // A pause that it asks for is one still.
    answer = refused(3_600_000);
    await world.append(mails(1));
    await until(() => outcomesOf(world.said).length === 41);
    await world.append([...mails(5), ...mails(1, { tenant: 'tnt_b' })]);
    await until(() => outcomesOf(world.said).length === 42);
    expect(sends).toHaveLength(42);
  });
});

describe('a receiver of webhooks that is down', () => {
  const dead = 'https://dead.example.com/hook';
  const alive = 'https://alive.example.com/hook';
  const byHost: Send = async ({ recipient }) => (recipient === dead ? retryable(3_600_000) : delivered);

  it("is no delay of its tenant's other receivers; what is for it waits in the scheduler, no attempt burnt", async () => {
    const { sends } = await world.run({ send: byHost, retryPolicy });
    await world.append([requested({ recipient: dead })]);
    await until(() => outcomesOf(world.said).length === 1);
    const waiting = Array.from({ length: 20 }, () => requested({ recipient: dead }));
    await world.append([...waiting, ...Array.from({ length: 30 }, () => requested({ recipient: alive }))]);
    await until(() => deferrals().length === 20 && outcomesOf(world.said).length === 31);
    expect(sends.filter(({ recipient }) => recipient === dead)).toHaveLength(1);
    for (const event of waiting) {
      const said = deferrals().find(({ notificationId }) => notificationId === event.notificationId);
      expect(said).toMatchObject({ reason: 'breaker', causeId: event.eventId, attempt: 1, firstAttempt: 1 });
      expect((said as { dueAt: number }).dueAt).toBeGreaterThan(Date.now() + 3_000_000);
    }
  });

  it('of one tenant is another tenant’s receiver still', async () => {
    await world.run({ send: byHost, retryPolicy });
    await world.append([requested({ recipient: dead })]);
    await until(() => outcomesOf(world.said).length === 1);
    await world.append([requested({ recipient: dead, tenant: 'tnt_b' })]);
    await until(() => outcomesOf(world.said).length === 2);
  });

  it('is deferred at a pace, and an expiry that comes before its time is when it ends', async () => {
    await world.run({ send: byHost, retryPolicy });
    await world.append([requested({ recipient: dead })]);
    await until(() => outcomesOf(world.said).length === 1);
    const expiresAt = Date.now() + 600_000;
    await world.append([requested({ recipient: dead, expiresAt })]);
    await until(() => deferrals().length === 1);
    expect(deferrals()).toMatchObject([{ dueAt: expiresAt }]);
    const begun = performance.now();
    await world.append(Array.from({ length: 310 }, () => requested({ recipient: dead })));
    await until(() => deferrals().length === 311, { timeoutMs: 60_000 });
    // 100 a second: the fourth lot begins three windows after the first, whose beginning isn't known.
    expect(performance.now() - begun).toBeGreaterThan(2000);
  });
});

describe('a fallback', () => {
  const fallback = (channel: Channel): Partial<TenantDirectory> => ({
    fallback: async (tenantId) => ({ ...settingsOf(tenantId, channel), role: 'fallback', apiKey: 'sk_second' }),
  });
  /** What the first and the second answer now. */
  function pair() {
    const answers: { primary: DeliveryOutcome; fallback: DeliveryOutcome } = {
      primary: delivered,
      fallback: delivered,
    };
    const send: Send = async (_, { provider }) => answers[provider?.role ?? 'primary'];
    return { answers, send };
  }
  const roles = () => outcomesOf(world.said).map(({ type, role }) => [type, role]);
  const one = { inFlightPerTenantProviderMax: 1 };
  const unserved: DeliveryOutcome = {
    kind: 'rejected',
    reason: { failureClass: 'credentials', code: '21408', message: 'not enabled for the region' },
    isUnserved: true,
  };

  it('takes over after three failures, and the first takes it back once a probe is answered', async () => {
    const { answers, send } = pair();
    answers.primary = retryable();
    await world.run({ channel: 'EMAIL', send, retryPolicy, limits: one, directory: fallback('EMAIL') });
    await world.append(mails(20));
    await until(() => outcomesOf(world.said).length === 20);
    const failed = roles().filter(([type]) => type === 'AttemptFailed');
    expect(roles().slice(0, 4)).toEqual([
      ['AttemptFailed', 'primary'],
      ['AttemptFailed', 'primary'],
      ['AttemptFailed', 'primary'],
      ['AttemptSucceeded', 'fallback'],
    ]);
    expect(failed.every(([, role]) => role === 'primary')).toBe(true);
    answers.primary = delivered;
    await until(async () => {
      await world.append(mails(1));
      return roles().at(-1)?.[1] === 'primary';
    });
  });

  it('takes over at once when the first refuses the credentials, and what was refused is tried again by it', async () => {
    const { answers, send } = pair();
    answers.primary = {
      kind: 'rejected',
      reason: { failureClass: 'credentials', code: '401', message: 'no such key' },
    };
    await world.run({ channel: 'EMAIL', send, retryPolicy, limits: one, directory: fallback('EMAIL') });
    await world.append(mails(8));
    await until(() => outcomesOf(world.said).length === 8);
    expect(roles()).toContainEqual(['AttemptSucceeded', 'fallback']);
    for (const said of outcomesOf(world.said)) {
      if (said.role === 'fallback') continue;
      expect(said).toMatchObject({ failureClass: 'credentials', retryAt: expect.any(Number) });
    }
    // A second of waiting for the machine may have let a probe through.
    expect(roles().filter(([, role]) => role === 'primary').length).toBeLessThan(4);
  });

  it("takes over for a pause that the first asks for, and nobody's next attempt waits for its end", async () => {
    const { answers, send } = pair();
    answers.primary = retryable(7_200_000);
    await world.run({
      channel: 'EMAIL',
      send,
      retryPolicy: fixedRetryPolicy([1000]),
      limits: one,
      directory: fallback('EMAIL'),
    });
    await world.append(mails(3));
    await until(() => outcomesOf(world.said).length === 3);
    const [first, ...others] = outcomesOf(world.said);
    expect(first).toMatchObject({ type: 'AttemptFailed', role: 'primary' });
    expect(first?.type === 'AttemptFailed' && (first.retryAt ?? 0) - first.occurredAt).toBe(1000);
    expect(others.map(({ role }) => role)).toEqual(['fallback', 'fallback']);
  });

  it('that is set up badly ends nothing: both wait', async () => {
    const { answers, send } = pair();
    answers.primary = retryable(3_600_000);
    answers.fallback = { kind: 'rejected', reason: { failureClass: 'credentials', code: '401', message: 'no' } };
    const { sends } = await world.run({
      channel: 'EMAIL',
      send,
      retryPolicy,
      limits: one,
      directory: fallback('EMAIL'),
    });
    await world.append(mails(10));
    await until(() => outcomesOf(world.said).length === 2);
    for (const said of outcomesOf(world.said)) expect(said).toMatchObject({ retryAt: expect.any(Number) });
    // The second one's probes go on.
    expect(sends.length).toBeLessThan(10);
  });

  it('isn’t taken for whom the first doesn’t send to: that ends, and is nobody else’s delay', async () => {
    const send: Send = async ({ recipient }) => (recipient === 'closed' ? unserved : delivered);
    await world.run({ channel: 'SMS', send, retryPolicy, limits: one, directory: fallback('SMS') });
    const messages = Array.from({ length: 20 }, (_, i) => {
      return requested({ channel: 'SMS', recipient: i % 4 === 3 ? 'open' : 'closed' });
    });
    await world.append(messages);
    await until(() => outcomesOf(world.said).length === 20);
    for (const said of outcomesOf(world.said)) {
      expect(said).toMatchObject({ role: 'primary' });
      if (said.type === 'AttemptFailed') expect(said).toMatchObject({ code: '21408', retryAt: null });
    }
    expect(roles().filter(([type]) => type === 'AttemptSucceeded')).toHaveLength(5);
  });

  it('that stands in ends nothing that it doesn’t send to itself, and sends the rest', async () => {
    const { answers } = pair();
    const send: Send = async ({ recipient }, { provider }) => {
      if (provider?.role === 'primary') return answers.primary;
      return recipient === 'closed' ? unserved : delivered;
    };
    answers.primary = retryable(2000);
    const delays = fixedRetryPolicy([2500, 2500]);
    await world.run({ channel: 'SMS', send, retryPolicy: delays, limits: one, directory: fallback('SMS') });
    await world.append([requested({ channel: 'SMS', recipient: 'first' })]);
    await until(() => outcomesOf(world.said).length === 1);
    answers.primary = delivered;
    await world.append(['closed', 'closed', 'open'].map((recipient) => requested({ channel: 'SMS', recipient })));
    await until(() => outcomesOf(world.said).length === 4);
    expect(outcomesOf(world.said).slice(1)).toMatchObject([
      { type: 'AttemptFailed', role: 'fallback', code: '21408', retryAt: expect.any(Number) },
      { type: 'AttemptFailed', role: 'fallback', code: '21408', retryAt: expect.any(Number) },
      { type: 'AttemptSucceeded', role: 'fallback' },
    ]);
  });

  it('that is disabled is none', async () => {
    const disabled: TenantDirectory['fallback'] = async (tenantId) => ({
      ...settingsOf(tenantId, 'EMAIL'),
      role: 'fallback',
      enabled: false,
    });
    const { answers, send } = pair();
    answers.primary = retryable(3_600_000);
    const { sends } = await world.run({ channel: 'EMAIL', send, retryPolicy, directory: { fallback: disabled } });
    await world.append(mails(1));
    await until(() => outcomesOf(world.said).length === 1);
    await world.append([...mails(5), ...mails(1, { tenant: 'tnt_b' })]);
    await until(() => sends.some(({ tenantId }) => String(tenantId) === 'tnt_b'));
    expect(sends.filter(({ tenantId }) => String(tenantId) === 'tnt_a')).toHaveLength(1);
  });
});
