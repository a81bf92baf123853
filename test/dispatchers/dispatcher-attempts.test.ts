// What a dispatcher makes of each work event and each answer, on the real log.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { AttemptFailed, AttemptSucceeded, DeliveryDeferred } from '../../src/domain/events.ts';
import { defaultRetryPolicy } from '../../src/domain/retry-policy.ts';
import { SecretBoxError } from '../../src/ports/secret-box.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable, settingsOf } from './harness.ts';
import type { DispatcherProcess, World } from './harness.ts';
import { due, requested, retryRequested } from './work-events.ts';

let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

async function firstOutcome(): Promise<AttemptSucceeded | AttemptFailed> {
  return until(() => outcomesOf(world.said)[0], { what: 'an outcome' });
}

async function firstFailure(): Promise<AttemptFailed> {
  const outcome = await firstOutcome();
  if (outcome.type !== 'AttemptFailed') throw new Error('it was delivered');
  return outcome;
}

const hang = () => new Promise<never>(() => {});

describe('a work event', () => {
  it('that requests a notification is attempt 1, and its outcome answers it', async () => {
    await world.run();
    const event = requested();
    await world.append([event]);
    const outcome = await firstOutcome();
    expect(outcome).toMatchObject({
      type: 'AttemptSucceeded',
      tenantId: event.tenantId,
      notificationId: event.notificationId,
      requestedAt: event.requestedAt,
      partition: event.partition,
      recipient: event.recipient,
      causeId: event.eventId,
      round: 1,
      attempt: 1,
      provider: 'fake',
      messageId: 'm-1',
    });
    expect(outcome.eventId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(outcome.eventId).not.toBe(event.eventId);
    expect(outcome.waitedMs).toBeGreaterThanOrEqual(0);
    expect(outcome.tookMs).toBeGreaterThanOrEqual(0);
  });

  it('with a sendAt, even one that is past, goes to the scheduler without an attempt', async () => {
    const { sends } = await world.run();
    const sendAt = Date.now() - 60_000;
    const event = requested({ sendAt });
    await world.append([event]);
    const said = await until(() => world.said[0]);
    const { eventId: causeId, request } = event;
    const expected: Partial<DeliveryDeferred> = {
      type: 'DeliveryDeferred',
      reason: 'scheduled',
      dueAt: sendAt,
      causeId,
      request,
    };
    expect(said).toMatchObject({ ...expected, attempt: 1, firstAttempt: 1 });
    expect(sends).toEqual([]);
  });

  it('that is due is the attempt that it names, waiting since it was due', async () => {
    await world.run({ send: async () => retryable() });
    const event = due(requested(), 3, 1, Date.now() - 5000);
    await world.append([event]);
    const failed = await firstFailure();
    expect(failed).toMatchObject({ causeId: event.eventId, attempt: 3, firstAttempt: 1, retryAt: null });
    expect(failed.waitedMs).toBeGreaterThanOrEqual(5000);
    expect(failed.waitedMs).toBeLessThan(60_000);
  });

  it('that is due in the future by a clock ahead of ours has waited for nothing', async () => {
    await world.run();
    await world.append([due(requested(), 2, 1, Date.now() + 3_600_000)]);
    expect((await firstOutcome()).waitedMs).toBe(0);
  });

  it('that a person repeats begins a round: numbers go on, the retry table begins anew', async () => {
    await world.run({ send: async () => retryable() });
    await world.append([retryRequested(requested(), 2, 4)]);
    const failed = await firstFailure();
    expect(failed).toMatchObject({ round: 2, attempt: 4, firstAttempt: 4 });
    expect((failed.retryAt ?? 0) - failed.occurredAt).toBe(1000);
  });

  it('that a person repeats before its sendAt goes to the scheduler, without an attempt', async () => {
    const { sends } = await world.run();
    const event = retryRequested(requested({ sendAt: Date.now() + 3_600_000 }), 2, 2);
    await world.append([event]);
    const said = await until(() => world.said[0]);
    const { eventId: causeId, request } = event;
    const expected: Partial<DeliveryDeferred> = { reason: 'scheduled', causeId, round: 2, attempt: 2, firstAttempt: 2 };
    expect(said).toMatchObject({ type: 'DeliveryDeferred', ...expected, dueAt: request.sendAt, request });
    expect(sends).toEqual([]);
  });

  it('that a person repeats after its sendAt is sent at once', async () => {
    await world.run();
    await world.append([retryRequested(requested({ sendAt: Date.now() - 1 }), 2, 2)]);
    expect(await until(() => world.said[0])).toMatchObject({ type: 'AttemptSucceeded', round: 2, attempt: 2 });
  });

  it('that is a repeat in its partition is dropped, and the next one is not', async () => {
    const { sends } = await world.run();
    const event = requested();
    const other = requested();
    await world.append([event]);
    await world.append([event, other]);
    await until(() => outcomesOf(world.said).length === 2);
    expect(sends.map(({ notificationId }) => notificationId)).toEqual([event.notificationId, other.notificationId]);
    const partition = (await world.log.ends('notifications.webhook.default'))[event.partition];
    await until(async () => (await world.committed(event, 'notifications.webhook.default'))?.offset === partition);
  });
});

describe('a failed attempt', () => {
  it('worth another try says when, with the request inside', async () => {
    await world.run({ send: async () => retryable(), retryPolicy: defaultRetryPolicy });
    const event = requested();
    await world.append([event]);
    const failed = await firstFailure();
    expect(failed).toMatchObject({ failureClass: 'provider', code: '500', message: 'sorry', request: event.request });
    const delay = (failed.retryAt ?? 0) - failed.occurredAt;
    expect(delay).toBeGreaterThanOrEqual(4000);
    expect(delay).toBeLessThanOrEqual(6000);
  });

  it('waits as long as the receiver asks for', async () => {
    await world.run({ send: async () => retryable(30_000) });
    await world.append([requested()]);
    const failed = await firstFailure();
    expect((failed.retryAt ?? 0) - failed.occurredAt).toBe(30_000);
  });

  it('that was the last of its round ends it, without the request', async () => {
    await world.run({ send: async () => retryable(30_000) });
    await world.append([due(requested(), 3, 1)]);
    expect(await firstFailure()).toMatchObject({ retryAt: null, request: null });
  });

  it('that was rejected ends the round at once', async () => {
    const reason = { failureClass: 'recipient' as const, code: '410', message: 'gone' };
    await world.run({ send: async () => ({ kind: 'rejected', reason }) });
    await world.append([requested()]);
    expect(await firstFailure()).toMatchObject({ ...reason, attempt: 1, retryAt: null, request: null });
  });

  it('by a provider that throws is ours and tried again; what was thrown is logged without secrets', async () => {
    const { lines } = await world.run({
      send: async () => {
        throw new Error('broke with sk_provider-key and whsec_tenant-secret');
      },
    });
    await world.append([requested()]);
    const failed = await firstFailure();
    expect(failed).toMatchObject({ failureClass: 'system', code: null });
    expect(failed.retryAt).not.toBeNull();
    const line = lines.find(({ level }) => level === 'error');
    expect(String(line?.fields['thrown'])).toContain('broke with [secret] and [secret]');
    expect(JSON.stringify([lines, failed])).not.toMatch(/sk_provider-key|tenant-secret/);
  });

  it('by a provider that throws is logged with its words whole, where a secret is as short as a part of them', async () => {
    const { lines } = await world.run({
      send: async () => {
        throw new TypeError('a broken token at key:ok');
      },
      directory: { provider: (tenantId) => Promise.resolve({ ...settingsOf(tenantId, 'WEBHOOK'), apiKey: 'ok' }) },
    });
    await world.append([requested()]);
    await firstFailure();
    const line = lines.find(({ level }) => level === 'error');
    expect(String(line?.fields['thrown'])).toContain('TypeError: a broken token at key:[secret]');
  });
});

describe('an attempt without what it needs', () => {
  it.each([
    ['no provider', async () => null, 'NO_PROVIDER', 'none'],
    ['a disabled one', async (id: never) => ({ ...settingsOf(id, 'SMS'), enabled: false }), 'NO_PROVIDER', 'fake'],
    ['an unknown one', async (id: never) => ({ ...settingsOf(id, 'SMS'), provider: 'gone' }), 'NO_PROVIDER', 'gone'],
    ['a key that does not open', async () => Promise.reject(new SecretBoxError('no')), 'KEY_UNREADABLE', 'unknown'],
  ])('(%s) fails for good, and it is the credentials', async (_, provider, code, name) => {
    const { sends } = await world.run({ channel: 'SMS', directory: { provider } });
    await world.append([requested({ channel: 'SMS', recipient: '+4915112345678' })]);
    expect(await firstFailure()).toMatchObject({ failureClass: 'credentials', code, provider: name, retryAt: null });
    expect(sends).toEqual([]);
  });

  it.each([
    ['no provider', async () => null],
    ['a disabled one', async (id: never) => ({ ...settingsOf(id, 'SMS'), enabled: false })],
    ['a key that does not open', async () => Promise.reject(new SecretBoxError('no'))],
  ])('(%s) as this process knows it is made by what another has saved meanwhile', async (_, before) => {
    let isRefreshed = false;
    const refresh = async () => {
      isRefreshed = true;
    };
    const provider = async (id: never) => (isRefreshed ? settingsOf(id, 'SMS') : before(id));
    const { sends } = await world.run({ channel: 'SMS', directory: { provider, refresh } });
    await world.append([requested({ channel: 'SMS', recipient: '+4915112345678' })]);
    await until(() => outcomesOf(world.said).length === 1);
    expect(outcomesOf(world.said)[0]).toMatchObject({ type: 'AttemptSucceeded', attempt: 1 });
    expect(sends).toHaveLength(1);
  });

  it('as this process knows it waits while the store that would know better is away', async () => {
    let isAway = true;
    let asked = 0;
    const refresh = async () => {
      asked++;
      if (isAway) throw new Error('store away');
    };
    await world.run({ channel: 'SMS', directory: { provider: async () => null, refresh } });
    await world.append([requested({ channel: 'SMS', recipient: '+4915112345678' })]);
    await until(() => asked > 0);
    expect(outcomesOf(world.said)).toEqual([]);
    isAway = false;
    expect(await firstFailure()).toMatchObject({ code: 'NO_PROVIDER', attempt: 1 });
  });

  it('since the settings are away waits until they are back: no attempt is burnt, others are not held up', async () => {
    let away = true;
    let coldLookups = 0;
    const { sends } = await world.run({
      directory: {
        provider: async (id) => {
          if (String(id) === 'tnt_cold') coldLookups++;
          if (away && String(id) === 'tnt_cold') throw new Error('store away');
          return settingsOf(id, 'WEBHOOK');
        },
      },
    });
    const cold = [1, 2, 3].map(() => requested({ tenant: 'tnt_cold' }));
    const warm = [1, 2, 3].map(() => requested({ tenant: 'tnt_warm' }));
    await world.append([...cold, ...warm]);
    await until(() => outcomesOf(world.said).length === 3);
    expect(sends.every(({ tenantId }) => String(tenantId) === 'tnt_warm')).toBe(true);
    expect(coldLookups).toBeLessThanOrEqual(3);
    away = false;
    await until(() => outcomesOf(world.said).length === 6);
    expect(outcomesOf(world.said).every(({ type, attempt }) => type === 'AttemptSucceeded' && attempt === 1)).toBe(
      true,
    );
    expect(sends).toHaveLength(6);
  });
});

describe('an attempt that takes long', () => {
  it('is cut at the deadline, whatever its provider does, and its slot is free again', async () => {
    let signal: AbortSignal | null = null;
    const slow = requested();
    await world.run({
      limits: { attemptDeadlineMs: 200, inFlightMax: 1 },
      send: (delivery, context) => {
        if (delivery.notificationId !== slow.notificationId) return Promise.resolve(delivered);
        ({ signal } = context);
        return hang();
      },
    });
    await world.append([slow]);
    const failed = await firstFailure();
    expect(failed).toMatchObject({ failureClass: 'network', code: 'ETIMEDOUT', attempt: 1 });
    expect(failed.retryAt).not.toBeNull();
    expect(failed.tookMs).toBeGreaterThanOrEqual(200);
    expect(failed.tookMs).toBeLessThan(2000);
    expect((signal as AbortSignal | null)?.aborted).toBe(true);
    await world.append([requested()]);
    await until(() => outcomesOf(world.said).some(({ type }) => type === 'AttemptSucceeded'));
  });

  it('has one outcome, also when its provider answers after the deadline', async () => {
    let answer: (outcome: typeof delivered) => void = () => {};
    await world.run({
      limits: { attemptDeadlineMs: 150 },
      send: () => new Promise((resolve) => (answer = resolve)),
    });
    await world.append([requested()]);
    await firstFailure();
    answer(delivered);
    await world.append([requested()]);
    await until(() => outcomesOf(world.said).length === 2);
    expect(outcomesOf(world.said).map(({ type }) => type)).toEqual(['AttemptFailed', 'AttemptFailed']);
  });

  it('is said to have started after a second, once; a fast one never is', async () => {
    let end: (outcome: typeof delivered) => void = () => {};
    const slow = requested();
    await world.run({
      send: ({ notificationId }) =>
        notificationId === slow.notificationId ? new Promise((resolve) => (end = resolve)) : Promise.resolve(delivered),
    });
    await world.append([slow, requested()]);
    const started = await until(() => world.said.find(({ type }) => type === 'AttemptStarted'));
    expect(started).toMatchObject({ causeId: slow.eventId, attempt: 1, provider: 'fake' });
    const [first] = outcomesOf(world.said);
    expect(started.occurredAt - slow.requestedAt).toBeLessThan(900);
    expect(first?.notificationId).not.toBe(slow.notificationId);
    const sweepsLater = performance.now() + 300;
    await until(() => performance.now() > sweepsLater);
    end(delivered);
    await until(() => outcomesOf(world.said).length === 2);
    expect(world.said.filter(({ type }) => type === 'AttemptStarted')).toHaveLength(1);
  });
});

describe('the log line of an attempt', () => {
  const attemptLine = ({ lines }: DispatcherProcess) => lines.find(({ message }) => message === 'attempt');

  it('is one, at debug for a success, without recipient and body', async () => {
    const process = await world.run();
    const event = requested({ body: 'the body', recipient: 'https://example.com/recipient' });
    await world.append([event]);
    await firstOutcome();
    expect(process.lines).toHaveLength(1);
    const line = attemptLine(process);
    expect(line?.level).toBe('debug');
    expect(line?.fields).toMatchObject({
      channel: 'WEBHOOK',
      notificationId: event.notificationId,
      attempt: 1,
      outcome: 'delivered',
    });
    expect(JSON.stringify(line)).not.toMatch(/the body|recipient/);
  });

  it('is at info for a failure, with its class and code', async () => {
    const process = await world.run({ send: async () => retryable() });
    await world.append([requested()]);
    await firstOutcome();
    const line = attemptLine(process);
    expect(line?.level).toBe('info');
    expect(line?.fields).toMatchObject({ outcome: 'retrying', failureClass: 'provider', code: '500' });
  });
});

describe('an in-app attempt', () => {
  it("succeeds though the tenant's settings can't be had: it needs none of them", async () => {
    const gone = () => Promise.reject(new Error('away'));
    const inbox = {
      channel: 'IN_APP' as const,
      name: 'inbox',
      check: () => [],
      keyGoesBy: () => ({}),
      send: async () => delivered,
    };
    await world.run({
      channel: 'IN_APP',
      directory: { provider: gone, secretsOf: gone, webhookSecret: gone },
      providers: { find: () => inbox, builtIn: () => inbox, names: () => ['inbox'] },
    });
    await world.append([requested({ channel: 'IN_APP', recipient: 'user-1' })]);
    expect(await firstOutcome()).toMatchObject({ type: 'AttemptSucceeded', provider: 'inbox' });
  });
});
