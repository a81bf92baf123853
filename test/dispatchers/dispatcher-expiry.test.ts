// What isn't delivered by its expiry ends FAILED, class `expired`, without another attempt.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { AttemptFailed } from '../../src/domain/events.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable } from './harness.ts';
import type { World } from './harness.ts';
import { due, requested, retryRequested } from './work-events.ts';

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.close());

const past = () => Date.now() - 1000;
const expired = { type: 'AttemptFailed', failureClass: 'expired', code: 'EXPIRED', provider: 'none', retryAt: null };

async function failures(count: number): Promise<AttemptFailed[]> {
  await until(() => outcomesOf(world.said).length >= count, { what: `${count} outcomes` });
  return outcomesOf(world.said) as AttemptFailed[];
}

describe('an expiry that is over', () => {
  it('ends whatever asks for an attempt without one: requests, retries, what a person sends again', async () => {
    const { sends } = await world.run();
    const events = [
      requested({ expiresAt: past() }),
      requested({ expiresAt: past(), priority: 'HIGH' }),
      due(requested({ expiresAt: past() }), 3, 1),
      retryRequested(requested({ expiresAt: past() }), 2, 4),
    ];
    await world.append([...events, requested()]);
    const said = await failures(5);
    for (const { eventId } of events)
      expect(said.find(({ causeId }) => causeId === eventId)).toMatchObject({ ...expired, request: null });
    expect(said.find(({ attempt }) => attempt === 3)).toMatchObject({ firstAttempt: 1 });
    expect(sends).toHaveLength(1);
  });

  it('holds in the inbox as well', async () => {
    const { sends } = await world.run({ channel: 'IN_APP' });
    const inApp = { channel: 'IN_APP', recipient: 'ada' } as const;
    await world.append([requested({ ...inApp, expiresAt: past() }), requested(inApp)]);
    await failures(2);
    expect(sends).toHaveLength(1);
  });

  it('waits for nobody: not for a slot, not for settings that are away', async () => {
    const never = () => new Promise<never>(() => {});
    await world.run({ directory: { provider: never, share: never }, limits: { inFlightPerTenantProviderMax: 1 } });
    await world.append([requested(), requested({ expiresAt: past() })]);
    expect((await failures(1))[0]).toMatchObject(expired);
  });

  it('comes while it waits for its turn: then it ends at its turn, and takes none of the slots', async () => {
    const open = Promise.withResolvers<void>();
    const send = async () => {
      await open.promise;
      return delivered;
    };
    const { sends } = await world.run({ send, limits: { inFlightMax: 1 } });
    await world.append([requested()]);
    await until(() => sends.length === 1);
    const expiresAt = Date.now() + 300;
    const waiting = requested({ expiresAt });
    await world.append([waiting, requested()]);
    await until(() => Date.now() > expiresAt);
    open.resolve();
    const said = await failures(3);
    expect(said.find(({ causeId }) => causeId === waiting.eventId)).toMatchObject(expired);
    expect(sends).toHaveLength(2);
  });

  it('comes while its provider is away: it ends then, though others wait before it', async () => {
    const limits = { inFlightPerTenantProviderMax: 1 };
    const { sends } = await world.run({ channel: 'EMAIL', send: async () => retryable(3_600_000), limits });
    const mail = (more: { expiresAt?: number } = {}) =>
      requested({ channel: 'EMAIL', recipient: 'ada@example.com', ...more });
    await world.append([mail()]);
    await failures(1);
    const brief = mail({ expiresAt: Date.now() + 300 });
    await world.append([mail(), mail(), brief]);
    const said = await failures(2);
    expect(said.find(({ causeId }) => causeId === brief.eventId)).toMatchObject(expired);
    expect(sends).toHaveLength(1);
  });

  it('comes while the settings are looked up: no attempt is made', async () => {
    const open = Promise.withResolvers<null>();
    const { sends } = await world.run({ directory: { secretsOf: () => open.promise.then(() => []) } });
    const expiresAt = Date.now() + 300;
    await world.append([requested({ expiresAt })]);
    await until(() => Date.now() > expiresAt);
    open.resolve(null);
    expect((await failures(1))[0]).toMatchObject(expired);
    expect(sends).toEqual([]);
  });

  it('is said by a timer that was set to it, whoever’s clock is ahead', async () => {
    const { sends } = await world.run();
    const expiresAt = Date.now() + 3_600_000;
    await world.append([due(requested({ expiresAt }), 2, 1, expiresAt)]);
    expect((await failures(1))[0]).toMatchObject({ ...expired, attempt: 2 });
    expect(sends).toEqual([]);
  });
});

describe('an expiry ahead', () => {
  it('changes nothing for what is delivered in time', async () => {
    await world.run();
    await world.append([requested({ expiresAt: Date.now() + 3_600_000 })]);
    await until(() => outcomesOf(world.said).length === 1);
    expect(outcomesOf(world.said)).toMatchObject([{ type: 'AttemptSucceeded', attempt: 1 }]);
  });

  it('is when a retry that would come later is due, with the request inside', async () => {
    await world.run({ send: async () => retryable(30_000) });
    const expiresAt = Date.now() + 20_000;
    const event = requested({ expiresAt });
    await world.append([event]);
    const [failed] = await failures(1);
    expect(failed).toMatchObject({ failureClass: 'provider', retryAt: expiresAt, request: event.request });
  });

  it('leaves a retry that comes before it as it is', async () => {
    await world.run({ send: async () => retryable() });
    await world.append([requested({ expiresAt: Date.now() + 3_600_000 })]);
    const [failed] = await failures(1);
    expect((failed?.retryAt ?? 0) - (failed?.occurredAt ?? 0)).toBe(1000);
  });
});
