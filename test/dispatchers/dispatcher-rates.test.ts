// A tenant's own rate for its provider: held over processes, nobody else's delay, and no attempt.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { RateLimitDecision, RateLimiter } from '../../src/ports/rate-limiter.ts';
import type { TenantDirectory } from '../../src/ports/tenant-directory.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, settingsOf } from './harness.ts';
import type { Send, World } from './harness.ts';
import { requested, requestedTogether } from './work-events.ts';

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.close());

/** `tnt_rated` allows its provider so many attempts a second, all others as many as can be made. */
function rated(maxPerSecond: number): Partial<TenantDirectory> {
  return {
    provider: async (tenantId) => {
      const config = tenantId === 'tnt_rated' ? { maxPerSecond } : {};
      return { ...settingsOf(tenantId, 'WEBHOOK'), config };
    },
  };
}

const ofRated = (count: number, wanted = {}) =>
  Array.from({ length: count }, () => requested({ tenant: 'tnt_rated', ...wanted }));

/** Notes when each send began. */
function timed(): { send: Send; times: Map<string, number[]> } {
  const times = new Map<string, number[]>();
  const send: Send = async ({ tenantId }) => {
    times.set(tenantId, [...(times.get(tenantId) ?? []), performance.now()]);
    return delivered;
  };
  return { send, times };
}

/** A limiter whose windows the test opens, and what it was asked. */
function manualLimiter() {
  const asked: { readonly key: string; readonly limit: number; readonly windowMs: number }[] = [];
  let left = 0;
  const limiter: Pick<RateLimiter, 'pace'> = {
    async pace(key, { limit, windowMs }): Promise<RateLimitDecision> {
      asked.push({ key, limit, windowMs });
      const allowed = left > 0;
      if (allowed) left--;
      return { allowed, remaining: left, resetMs: 20 };
    },
  };
  return {
    limiter,
    asked,
    open(count: number) {
      left = count;
    },
  };
}

describe("a tenant's own rate for its provider", () => {
  it('is held: no window has more attempts than it, and the next one begins when it ends', async () => {
    const { send, times } = timed();
    await world.run({ send, directory: rated(20) });
    const from = performance.now();
    await world.append(ofRated(70));
    await until(() => outcomesOf(world.said).length === 70);
    const sent = times.get('tnt_rated') ?? [];
    // 20 in each of three windows, 10 in the fourth, the first of which begins after `from`.
    expect(sent.filter((at, n) => at - from < Math.floor(n / 20) * 1000)).toEqual([]);
  });

  it('is held over processes that share a limiter', async () => {
    const other = await makeWorld();
    const limiter = createMemoryRateLimiter();
    const [here, there] = [timed(), timed()];
    const from = performance.now();
    await world.run({ send: here.send, directory: rated(20), limiter });
    await other.run({ send: there.send, directory: rated(20), limiter });
    await Promise.all([world.append(ofRated(30)), other.append(ofRated(30))]);
    await until(() => outcomesOf(world.said).length + outcomesOf(other.said).length === 60);
    const sent = [...(here.times.get('tnt_rated') ?? []), ...(there.times.get('tnt_rated') ?? [])].sort(
      (a, b) => a - b,
    );
    expect(sent.filter((at, n) => at - from < Math.floor(n / 20) * 1000)).toEqual([]);
    await other.close();
  });

  it('goes to what is urgent in another process, however near to the limiter is the one that has BULK of it', async () => {
    const other = await makeWorld();
    const limiter = createMemoryRateLimiter();
    const farther: Pick<RateLimiter, 'pace'> = {
      async pace(...args) {
        await sleep(5);
        return limiter.pace(...args);
      },
    };
    await world.run({ directory: rated(10), limiter });
    await other.run({ directory: rated(10), limiter: farther });
    await world.append(ofRated(100, { priority: 'BULK' }));
    await until(() => outcomesOf(world.said).length > 0);
    await other.append(ofRated(30, { priority: 'HIGH' }));
    // Three windows where it has every one of them; the machine may be late for one or two.
    const before = outcomesOf(world.said).length;
    await until(() => outcomesOf(other.said).length === 30, { what: 'what is urgent', timeoutMs: 30_000 });
    expect(outcomesOf(world.said).length - before).toBeLessThanOrEqual(30);
    await other.close();
  });

  it("is nobody else's delay, in its own lane or another, and its own urgent work waits with it", async () => {
    const { limiter, open } = manualLimiter();
    const { sends } = await world.run({ directory: rated(5), limiter, limits: { inFlightMax: 4 } });
    await world.append(ofRated(300, { priority: 'BULK' }));
    await world.append(ofRated(5, { priority: 'HIGH' }));
    await world.append(
      Array.from({ length: 200 }, (_, i) =>
        requested({ tenant: `tnt_${i % 5}`, priority: i % 2 === 0 ? 'BULK' : 'HIGH' }),
      ),
    );
    await until(() => outcomesOf(world.said).length === 200, { what: "the others' attempts" });
    expect(sends.filter(({ tenantId }) => String(tenantId) === 'tnt_rated')).toEqual([]);
    open(1000);
    await until(() => outcomesOf(world.said).length === 505);
  });

  it('is taken by tenant and channel, and only where there is one', async () => {
    const { limiter, asked, open } = manualLimiter();
    open(1000);
    await world.run({ directory: rated(7), limiter });
    await world.append([...ofRated(3), ...Array.from({ length: 20 }, () => requested({ tenant: 'tnt_b' }))]);
    await until(() => outcomesOf(world.said).length === 23);
    const once = { key: 'provider:tnt_rated:WEBHOOK', limit: 7, windowMs: 1000 };
    expect(asked).toEqual([once, once, once]);
  });

  it('that is used up is no attempt and no event: everything is sent once, as the first attempt', async () => {
    const { limiter, asked, open } = manualLimiter();
    const { sends } = await world.run({ directory: rated(5), limiter });
    await world.append(ofRated(40));
    await until(() => asked.length > 60, { what: 'many refusals' });
    expect(world.said).toEqual([]);
    expect(sends).toEqual([]);
    open(1000);
    await until(() => outcomesOf(world.said).length === 40);
    expect(world.said.map(({ type }) => type)).toEqual(Array(40).fill('AttemptSucceeded'));
    expect(new Set(world.said.map((event) => ('attempt' in event ? event.attempt : 0)))).toEqual(new Set([1]));
    expect(new Set(sends.map(({ notificationId }) => notificationId)).size).toBe(40);
  });

  it('keeps the order, however many were refused at once', async () => {
    const { limiter, asked, open } = manualLimiter();
    const { sends } = await world.run({ directory: rated(5), limiter });
    const events = requestedTogether(60, { tenant: 'tnt_rated' });
    await world.append(events);
    for (let sent = 0; sent < 60; sent += 5) {
      const before = asked.length;
      await until(() => asked.length > before + 20, { what: 'refusals' });
      open(5);
      await until(() => sends.length === sent + 5);
    }
    expect(sends.map(({ notificationId }) => notificationId)).toEqual(
      events.map(({ notificationId }) => notificationId),
    );
  });

  it('asks no more in a window that is known to be used up', async () => {
    const asked: string[] = [];
    const limiter: Pick<RateLimiter, 'pace'> = {
      async pace(key) {
        asked.push(key);
        return { allowed: false, remaining: 0, resetMs: 60_000 };
      },
    };
    const { dispatcher } = await world.run({ directory: rated(1), limiter, limits: { startsPerTurn: 8 } });
    await world.append(ofRated(500));
    await world.append([requested({ tenant: 'tnt_b' })]);
    await until(() => outcomesOf(world.said).length === 1);
    // Those begun before the first answer: one turn of starts.
    expect(asked.length).toBeLessThanOrEqual(8);
    await dispatcher.stop();
  });

  it('holds up no stop while it rests, and what rests is sent after the restart', async () => {
    const { limiter, asked } = manualLimiter();
    const endless: Pick<RateLimiter, 'pace'> = {
      pace: async (...args) => ({ ...(await limiter.pace(...args)), resetMs: 60_000 }),
    };
    const first = await world.run({ directory: rated(5), limiter: endless });
    const events = ofRated(20);
    await world.append(events);
    await until(() => asked.length > 0);
    const begun = performance.now();
    await first.dispatcher.stop();
    expect(performance.now() - begun).toBeLessThan(500);
    const { sends } = await world.run({ directory: rated(1000) });
    await until(() => outcomesOf(world.said).length === 20);
    expect(new Set(sends.map(({ notificationId }) => notificationId))).toEqual(
      new Set(events.map(({ notificationId }) => notificationId)),
    );
  });

  it('changes with the settings: without one what rested goes on when its window ends', async () => {
    let maxPerSecond: number | undefined = 1;
    const provider: TenantDirectory['provider'] = async (tenantId: TenantId) => ({
      ...settingsOf(tenantId, 'WEBHOOK'),
      config: maxPerSecond === undefined ? {} : { maxPerSecond },
    });
    await world.run({ directory: { provider } });
    await world.append(ofRated(50));
    await until(() => outcomesOf(world.said).length === 1);
    maxPerSecond = undefined;
    await until(() => outcomesOf(world.said).length === 50, { timeoutMs: 3000 });
  });
});
