// A tenant's surplus, whatever makes it one, gives way to the others of its lane and number: it stays in the log and comes back in its order.

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { createCodec, UndecodableError } from '../../src/codec/index.ts';
import type { RateLimitDecision, RateLimiter } from '../../src/ports/rate-limiter.ts';
import type { TenantDirectory } from '../../src/ports/tenant-directory.ts';
import { workTopic } from '../../src/domain/topics.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, retryable, settingsOf } from './harness.ts';
import type { Send, World } from './harness.ts';
import { requested, requestedTogether } from './work-events.ts';

/** Of one tenant on one number: more than the 3,200 small events for which a number had memory, and than a tenant's share of a lane, some 1,800. */
const floodEvents = 4_500;
const topic = workTopic('WEBHOOK', 'BULK');
let world: World;

/** Thousands of events are written and sent, each durable: on a machine that others use as well that takes its time. */
jest.setTimeout(180_000);

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const idsOf = (of: readonly { readonly notificationId: string }[]) => of.map(({ notificationId }) => notificationId);
const sentOf = (of: readonly { readonly tenantId: string; readonly notificationId: string }[], tenant: string) =>
  idsOf(of.filter(({ tenantId }) => tenantId === tenant));
const outcomesFor = (tenant: string) => outcomesOf(world.said).filter(({ tenantId }) => String(tenantId) === tenant);
const hang = () => new Promise<never>(() => {});
const flood = (count = floodEvents) => requestedTogether(count, { tenant: 'tnt_flood', priority: 'BULK' });

/** BULK of other tenants, by turns, on the number of an event. */
function beside(event: { readonly partition: number } | undefined, count: number, tenants = 1) {
  const onIt = (tenant: string) => {
    for (let tries = 0; tries < 20; tries++) {
      const one = requested({ tenant, priority: 'BULK' });
      if (one.partition === event?.partition) return one;
    }
    return null;
  };
  const names: string[] = [];
  for (let i = 0; names.length < tenants; i++) if (onIt(`tnt_${i}`) !== null) names.push(`tnt_${i}`);
  return Array.from({ length: count }, (_, i) => onIt(names[i % tenants] ?? '')).filter((one) => one !== null);
}

describe('BULK of others on the number of a tenant', () => {
  it('whose receiver hangs is sent at once, however much of it waits', async () => {
    const events = flood();
    await world.run({
      send: ({ tenantId }) => (String(tenantId) === 'tnt_flood' ? hang() : Promise.resolve(delivered)),
    });
    await world.append(events);
    for (let sent = 1; sent <= 20; sent++) {
      await world.append(beside(events[0], 1));
      await until(() => outcomesOf(world.said).length === sent, { what: `the other's BULK number ${sent}` });
    }
    expect(outcomesFor('tnt_flood')).toEqual([]);
  });

  it('whose rate is used up is sent at once, and what waits comes at its turn: in its order, each once', async () => {
    const { limiter, open } = manualLimiter();
    const events = flood();
    const { sends } = await world.run({ directory: rated(100), limiter });
    await world.append(events);
    const others = beside(events[0], 20);
    await world.append(others);
    await until(() => outcomesOf(world.said).length === others.length);
    expect(sentOf(sends, 'tnt_flood')).toEqual([]);
    open(1_000_000);
    await until(() => outcomesFor('tnt_flood').length === events.length, { timeoutMs: 150_000 });
    expect(sentOf(sends, 'tnt_flood')).toEqual(idsOf(events));
    await until(async () => {
      const position = await world.committed(others[0] ?? requested(), topic);
      return position?.offset === events.length + others.length && position.metadata === '';
    });
  });

  it('comes back in its order while new work of it and of many others comes in', async () => {
    const events = flood();
    const { sends } = await world.run({ limits: { inFlightPerTenantProviderMax: 1 } });
    await world.append(events);
    const later = requestedTogether(500, { tenant: 'tnt_flood', priority: 'BULK' }).filter(
      ({ partition }) => partition === events[0]?.partition,
    );
    const others = beside(events[0], 200, 9);
    await world.append([...others, ...later]);
    await until(() => outcomesOf(world.said).length === events.length + others.length + later.length, {
      timeoutMs: 150_000,
    });
    expect(sentOf(sends, 'tnt_flood')).toEqual(idsOf([...events, ...later]));
    expect(new Set(idsOf(sends)).size).toBe(sends.length);
  });
});

describe('what tenants left in the log', () => {
  it('is decoded once, when it is taken, however often it is read past', async () => {
    await world.close();
    const codec = createCodec();
    let decoded = 0;
    world = await makeWorld({
      codec: {
        ...codec,
        decode(type, ...of) {
          if (type === 'NotificationRequested') decoded++;
          return codec.decode(type, ...of);
        },
      },
    });
    const events = flood();
    await world.append(events);
    await world.run();
    await until(() => outcomesOf(world.said).length === events.length, { timeoutMs: 150_000 });
    expect(decoded).toBe(events.length);
  });

  it('ends where only its first bytes can be read: it is passed over as finished when its turn has come', async () => {
    await world.close();
    const codec = createCodec();
    const events = flood();
    const broken = new Set(events.filter((_, i) => i % 500 === 7).map(({ eventId }) => String(eventId)));
    world = await makeWorld({
      codec: {
        ...codec,
        decode(type, fingerprint, bytes) {
          const event = codec.decode(type, fingerprint, bytes);
          if (event.type === 'NotificationRequested' && broken.has(event.eventId)) throw new UndecodableError('broken');
          return event;
        },
      },
    });
    await world.append(events);
    const { sends } = await world.run();
    const one = events[0] ?? requested();
    await until(
      async () => {
        const position = await world.committed(one, topic);
        return position?.offset === events.length && position.metadata === '';
      },
      { timeoutMs: 150_000 },
    );
    expect(broken.size).toBe(9);
    expect(idsOf(sends)).toEqual(idsOf(events.filter(({ eventId }) => !broken.has(eventId))));
  });

  it('is read again in four ranges at a time at most, however many numbers have some', async () => {
    const body = 'x'.repeat(20_000);
    const events = Array.from({ length: 1_000 }, (_, i) =>
      requested({ tenant: `tnt_${i % 10}`, priority: 'BULK', body }),
    );
    for (let i = 0; i < events.length; i += 100) await world.append(events.slice(i, i + 100));
    let [reading, peak] = [0, 0];
    const { sends } = await world.run({
      wrapLog: (log) => ({
        ...log,
        async *read(range) {
          // Deliveries are read back at a start.
          const counts = range.topic === topic ? 1 : 0;
          reading += counts;
          peak = Math.max(peak, reading);
          try {
            yield* log.read(range);
          } finally {
            reading -= counts;
          }
        },
      }),
    });
    await until(() => outcomesOf(world.said).length === events.length, { timeoutMs: 150_000 });
    expect(new Set(idsOf(sends)).size).toBe(events.length);
    expect(peak).toBeGreaterThan(0);
    expect(peak).toBeLessThanOrEqual(4);
  });
});

describe('one attempt that hangs', () => {
  it('stops nothing of its number, however many events come after it', async () => {
    const hangs = requested({ tenant: 'tnt_hangs', priority: 'BULK' });
    const answer = Promise.withResolvers<typeof delivered>();
    const { sends } = await world.run({
      send: ({ tenantId }) => (String(tenantId) === 'tnt_hangs' ? answer.promise : Promise.resolve(delivered)),
      // However slow the machine is, it hangs until all others are through.
      limits: { attemptDeadlineMs: 3_600_000 },
    });
    await world.append([hangs]);
    await until(() => sends.length === 1);
    const others = beside(hangs, 11_000, 20);
    await world.append(others);
    await until(() => outcomesOf(world.said).length === others.length, { timeoutMs: 150_000 });
    answer.resolve(delivered);
  });
});

describe('a kill while a tenant lags', () => {
  it('sends again what was in flight alone: what was finished far beyond is known, and what waits comes in its order', async () => {
    const events = flood();
    let left = 700;
    const ofFlood: Send = () => (left-- > 0 ? Promise.resolve(left % 50 === 0 ? retryable() : delivered) : hang());
    const first = await world.run({
      send: (delivery, context) =>
        String(delivery.tenantId) === 'tnt_flood' ? ofFlood(delivery, context) : Promise.resolve(delivered),
    });
    await world.append(events);
    const others = beside(events[0], 300, 9);
    await world.append(others);
    await until(() => outcomesOf(world.said).length === 700 + others.length, { timeoutMs: 150_000 });
    await until(async () => (await world.committed(others[0] ?? requested(), topic))?.offset === 700);
    const inFlight = new Set(sentOf(first.sends, 'tnt_flood').slice(700));
    first.kill();
    await world.reopen();

    const second = await world.run();
    const later = beside(events[0], 20);
    await world.append(later);
    await until(() => second.sends.length >= events.length - 700 + later.length, { timeoutMs: 150_000 });
    expect(inFlight.size).toBeGreaterThan(0);
    expect(sentOf(second.sends, 'tnt_flood')).toEqual(idsOf(events).slice(700));
    expect(idsOf(second.sends).filter((id) => idsOf(others).includes(id))).toEqual([]);
    expect(second.sends).toHaveLength(events.length - 700 + later.length);
  });

  it('passes over what was answered and not committed', async () => {
    const events = flood();
    let sent = 0;
    let commits = true;
    const first = await world.run({
      send: () => (sent++ < 400 ? Promise.resolve(delivered) : hang()),
      wrapLog: (log) => ({
        ...log,
        consume: (options) =>
          log.consume({
            ...options,
            owned: (claim) => options.owned({ ...claim, commit: (of) => (commits ? claim.commit(of) : hang()) }),
          }),
      }),
    });
    await world.append(events.slice(0, -1));
    const one = events[0] ?? requested();
    await until(async () => ((await world.committed(one, topic))?.offset ?? 0) > 0);
    commits = false;
    await until(() => outcomesOf(world.said).length === 400);
    first.kill();
    await world.reopen();
    const second = await world.run();
    await until(() => second.sends.length >= events.length - 401, { timeoutMs: 150_000 });
    expect(idsOf(second.sends)).toEqual(idsOf(events).slice(400, -1));
  });
});

/** `tnt_flood` allows its provider so many attempts a second. */
function rated(maxPerSecond: number): Partial<TenantDirectory> {
  return {
    provider: async (tenantId) => {
      const config = tenantId === 'tnt_flood' ? { maxPerSecond } : {};
      return { ...settingsOf(tenantId, 'WEBHOOK'), config };
    },
  };
}

/** A limiter whose windows the test opens. */
function manualLimiter() {
  let left = 0;
  const limiter: Pick<RateLimiter, 'pace'> = {
    async pace(): Promise<RateLimitDecision> {
      const allowed = left > 0;
      if (allowed) left--;
      return { allowed, remaining: left, resetMs: 20 };
    },
  };
  return {
    limiter,
    open(count: number) {
      left = count;
    },
  };
}
