// What waits for receivers of webhooks that are dead, over many minutes: it comes back no faster for being more, and holds up nobody.

import { describe, expect, it } from '@jest/globals';

import { createBookings } from '../../src/dispatchers/bookings.ts';
import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import { createDeferrals } from '../../src/dispatchers/deferrals.ts';
import { createAskPermit } from '../../src/dispatchers/permits.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { Priority } from '../../src/domain/events.ts';
import { priorities } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { requested } from './work-events.ts';

interface Load {
  readonly tenant: string;
  /** In its first second. */
  readonly atOnce?: number;
  /** In each second. */
  readonly dead?: number;
  readonly healthy?: number;
}

interface Second {
  readonly deferred: number;
  readonly back: number;
}

const tickMs = 100;
const minuteMs = 60_000;

/** A dispatcher of each tenant's in the order in which it came, beside a scheduler that is never late; the breakers open for 1, 2, 4, ... s, ten minutes at most. */
async function run(loads: readonly Load[], seconds: number) {
  let now = 0;
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const clock = { now: () => now, monotonic: () => now, random };
  const opensUntil = () => {
    let until = 1000;
    for (let forMs = 2000; until <= now; forMs = Math.min(forMs * 2, 600_000)) until += forMs;
    return until;
  };
  const askPermit = createAskPermit({
    findMeans: async () => ({ kind: 'ready' }) as never,
    breakers: {
      choose({ event }: WorkItem) {
        const { tenantId, recipient } = event;
        return recipient === dead
          ? { kind: 'wait', until: opensUntil(), of: 'receiver', awaited: `${tenantId}\n${dead}` }
          : { kind: 'go', pass: { means: { role: 'primary', maxPerSecond: null } } };
      },
    } as never,
    deferrals: createDeferrals({ clock, comingBack: createComingBack({ clock }) }),
    pauses: { note() {}, end() {} },
    isInOthersWay: () => false,
    takeRate: () => Promise.reject(new Error('there is no rate')),
    clock,
  });
  const tenants = loads.map((load) => {
    const item = (recipient: string) => ({ event: requested({ tenant: load.tenant, recipient }) }) as WorkItem;
    const [toDead, toHealthy] = [item(dead), item(healthy)];
    return { load, toDead, toHealthy, waiting: [] as { item: WorkItem; since: number }[], heldUntil: 0, latestMs: 0 };
  });
  type Tenant = (typeof tenants)[number];
  const backAt = new Map<number, Tenant[]>();
  const told: Second[] = [];

  const push = (tenant: Tenant, item: WorkItem, count: number) => {
    for (let i = 0; i < count; i++) tenant.waiting.push({ item, since: now });
  };
  for (let second = 0; second < seconds; second++) {
    let [deferred, back] = [0, 0];
    for (let tick = 0; tick < 1000 / tickMs; tick++, now += tickMs) {
      for (const tenant of tenants) {
        const { atOnce = 0, dead: ofDead = 0, healthy: ofHealthy = 0 } = tenant.load;
        if (now === 0) push(tenant, tenant.toDead, atOnce);
        push(tenant, tenant.toDead, inTick(ofDead, tick));
        push(tenant, tenant.toHealthy, inTick(ofHealthy, tick));
      }
      for (const tenant of backAt.get(now) ?? []) {
        back++;
        push(tenant, tenant.toDead, 1);
      }
      backAt.delete(now);
      for (const tenant of tenants) {
        while (tenant.heldUntil <= now && tenant.waiting[0] !== undefined) {
          const { item, since } = tenant.waiting[0];
          const permit = await askPermit(item);
          if (permit.kind === 'rest') tenant.heldUntil = now + (permit.restMs ?? 0);
          else tenant.waiting.shift();
          if (permit.kind === 'go') tenant.latestMs = Math.max(tenant.latestMs, now - since);
          if (permit.kind !== 'defer') continue;
          deferred++;
          const due = Math.ceil(permit.dueAt / tickMs) * tickMs;
          backAt.set(due, [...(backAt.get(due) ?? []), tenant]);
        }
      }
    }
    told.push({ deferred, back });
  }
  return { told, latestMs: new Map(tenants.map(({ load, latestMs }) => [load.tenant, latestMs])) };
}

/** How long what came last for a receiver that is dead since is out, ms; each of the others has one out. */
function latestOf(flood: {
  aSecond: number;
  others?: number;
  ownOthers?: number;
  forSeconds?: number;
  priority?: Priority;
  waitMs?: number;
}): number {
  const { aSecond, others = 0, ownOthers = 0, forSeconds = 600, priority = 'DEFAULT', waitMs = 600_000 } = flood;
  let now = 0;
  const clock = { now: () => now, monotonic: () => now, random: () => 0.5 };
  const deferrals = createDeferrals({ clock, comingBack: createComingBack({ clock }) });
  const beside = [
    ...Array.from({ length: others }, (_, i) => `tnt_${i}`),
    ...Array.from({ length: ownOthers }, () => 'tnt_a'),
  ].map((tenant, i) => ({ tenantId: tenant as TenantId, awaited: `${tenant}\n${i}` }));
  let latestMs = 0;
  for (let second = 0; second < forSeconds; second++, now += 1000) {
    for (const one of beside.slice(second * 10, (second + 1) * 10)) deferrals.take(one, priority, waitMs);
    for (let n = 0; n < aSecond; n++) {
      const deferral = deferrals.take({ tenantId: 'tnt_a' as TenantId, awaited: `tnt_a\n${dead}` }, priority, waitMs);
      if (deferral.kind === 'until') latestMs = Math.max(latestMs, deferral.dueAt - now);
    }
  }
  return latestMs;
}

/**
 * Receivers that are dead since, whose breakers open for ten minutes at a time: how many came back in a second of the busiest minute, how long behind its wait what
 * was out longest, and how late whose receiver failed for a second.
 */
function besideDead(load: {
  readonly tenants: number;
  readonly receivers: number;
  readonly each: number;
  readonly priority: Priority;
}) {
  const { tenants, receivers, each, priority } = load;
  let now = 0;
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const clock = { now: () => now, monotonic: () => now, random };
  const deferrals = createDeferrals({ clock, comingBack: createComingBack({ clock }) });
  const waiting = Array.from({ length: tenants }, () =>
    Array.from({ length: receivers * each }, (_, i) => i % receivers),
  );
  const backAt = new Map<number, [number, number][]>();
  const [perMinute, latest]: [number[], number[]] = [[], []];
  let behindMs = 0;
  for (; now < 1_200_000; now += tickMs) {
    const back = backAt.get(now) ?? [];
    for (const [tenant, receiver] of back) waiting[tenant]?.push(receiver);
    const minute = Math.floor(now / minuteMs);
    perMinute[minute] = (perMinute[minute] ?? 0) + back.length;
    for (const [tenant, queue] of waiting.entries()) {
      const isDeferred = (receiver: number) => {
        const of = { tenantId: `tnt_${tenant}` as TenantId, awaited: `tnt_${tenant}\n${receiver}` };
        const waitMs = Math.max(1_000, 660_000 - (now % 660_000));
        const deferral = deferrals.take(of, priority, waitMs);
        if (deferral.kind === 'paced') return false;
        behindMs = Math.max(behindMs, deferral.dueAt - now - waitMs);
        const at = Math.ceil(deferral.dueAt / tickMs) * tickMs;
        backAt.set(at, [...(backAt.get(at) ?? []), [tenant, receiver]]);
        return true;
      };
      const left = queue.findIndex((receiver) => !isDeferred(receiver));
      queue.splice(0, left < 0 ? queue.length : left);
    }
    if (now % minuteMs !== minuteMs - tickMs) continue;
    const little = deferrals.take({ tenantId: `tnt_little_${now}` as TenantId, awaited: `${now}` }, 'DEFAULT', 1_000);
    if (little.kind === 'until') latest.push(little.dueAt - now);
  }
  /** Each after a second's wait, as many a second as are taken. */
  function backIn(of: {
    readonly tenant: string;
    readonly receiver: string;
    readonly priority: Priority;
    readonly count: number;
  }) {
    const waitedFor = { tenantId: of.tenant as TenantId, awaited: `${of.tenant}\n${of.receiver}` };
    now += 1_000;
    return Array.from({ length: of.count }, () => {
      for (;;) {
        const deferral = deferrals.take(waitedFor, of.priority, 1_000);
        if (deferral.kind === 'until') return deferral.dueAt - now;
        now += deferral.restMs;
      }
    });
  }
  return { most: most(perMinute) / 60, behindMs, latestMs: most(latest), backIn };
}

/** Of so many a second. */
const inTick = (aSecond: number, tick: number) =>
  Math.floor((aSecond * (tick + 1) * tickMs) / 1000) - Math.floor((aSecond * tick * tickMs) / 1000);
const dead = 'https://dead.example.com/hook';
const healthy = 'https://healthy.example.com/hook';
const most = (of: readonly number[]) => Math.max(...of);
const mean = (of: readonly number[]) => of.reduce((sum, one) => sum + one, 0) / of.length;

describe('what is deferred for dead receivers', () => {
  it("comes back at a quarter of its tenant's pace, however much it has become: the tenant's others never wait", async () => {
    const { told, latestMs } = await run([{ tenant: 'tnt_a', dead: 30, healthy: 30 }], 1200);
    expect(latestMs.get('tnt_a')).toBeLessThan(1000);
    expect(mean(told.slice(-600).map(({ back }) => back))).toBeLessThan(30);
    expect(most(told.map(({ deferred }) => deferred))).toBeLessThan(100);
  });

  it('is bounded over all tenants, and who has little of it finds room', async () => {
    const floods = Array.from({ length: 40 }, (_, i) => ({ tenant: `tnt_${i}`, atOnce: 2000 }));
    const { told, latestMs } = await run([...floods, { tenant: 'tnt_little', dead: 3, healthy: 10 }], 240);
    expect(most(told.map(({ deferred }) => deferred))).toBeLessThanOrEqual(500);
    expect(mean(told.slice(-120).map(({ back }) => back))).toBeLessThan(250);
    // The first second alone may go to those who came first.
    expect(latestMs.get('tnt_little')).toBeLessThan(1500);
  }, 60_000);

  it('of one receiver, or less urgent, puts no other off; nor what comes after one was taken', () => {
    const clock = { now: () => 0, monotonic: () => 0, random: () => 0.5 };
    const deferrals = createDeferrals({ clock, comingBack: createComingBack({ clock }) });
    const of = (receiver: string) => ({ tenantId: 'tnt_a' as TenantId, awaited: `tnt_a\n${receiver}` });
    const dueOf = (receiver: string, priority: Priority, waitMs: number) => {
      const deferral = deferrals.take(of(receiver), priority, waitMs);
      return deferral.kind === 'until' ? deferral.dueAt : null;
    };
    for (let i = 0; i < 90; i++) dueOf('dead', 'BULK', 10_000);
    expect(dueOf('dead', 'BULK', 10_000)).toBeGreaterThanOrEqual(13_600);
    expect(dueOf('dead', 'HIGH', 10_000)).toBe(11_250);
    expect(dueOf('failing', 'BULK', 1000)).toBe(1500);
    deferrals.end(of('dead'));
    expect(dueOf('dead', 'BULK', 1000)).toBe(1500);
  });

  it.each([
    ['that sends 10 a second, alone', 10, 0, 15],
    ['that sends 10 a second, beside 2,000 tenants that have one webhook out each', 10, 2_000, 15],
    ['that sends 100 a second', 100, 0, 45],
  ])('of a tenant %s, for ten minutes, is no longer out than its own pace makes it', (_, aSecond, others, minutes) => {
    expect(latestOf({ aSecond, others }) / minuteMs).toBeLessThan(minutes);
  });

  it('and is much isn’t made later by the tenant’s other receivers, for which there is one each', () => {
    expect(latestOf({ aSecond: 10, ownOthers: 200 }) / minuteMs).toBeLessThan(20);
  });

  it.each([
    ['HIGH', 5],
    ['DEFAULT', 60],
    ['BULK', 60],
  ] as const)('of one tenant is out for no longer than %s may be after its wait: %d minutes', (priority, minutes) => {
    expect(latestOf({ aSecond: 100, forSeconds: 1_800, priority, waitMs: 10_000 }) / minuteMs).toBeLessThan(
      minutes + 0.5,
    );
  });

  it.each([
    ['200 dead receivers of ten tenants', 10, 20, 1_000, 'DEFAULT', 220, 60],
    ['two of two tenants, much of it HIGH', 2, 1, 80_000, 'HIGH', 500, 5],
  ] as const)(
    'of %s comes back in time, at no more a second than that takes, and who has nothing else out when it is wanted',
    (_, tenants, receivers, each, priority, aSecond, minutes) => {
      const { most, behindMs, latestMs } = besideDead({ tenants, receivers, each, priority });
      expect(most).toBeLessThan(aSecond);
      expect(behindMs).toBeLessThanOrEqual(minutes * minuteMs + 1);
      expect(latestMs).toBeLessThanOrEqual(2_000);
    },
  );

  it('for a receiver that failed for a second is back in seconds, beside ten tenants with twenty dead ones each: of one of them, and of who has 2,000 out', () => {
    const { backIn } = besideDead({ tenants: 10, receivers: 20, each: 1_000, priority: 'DEFAULT' });
    const failed = { receiver: 'failed', count: 20 };
    const tenant = 'tnt_else';
    expect(most(backIn({ tenant, receiver: 'dead', priority: 'DEFAULT', count: 2_000 }))).toBeLessThan(10 * minuteMs);
    for (const priority of priorities) {
      expect(most(backIn({ tenant, ...failed, priority }))).toBeLessThan(3_000);
      expect(most(backIn({ tenant: 'tnt_0', ...failed, priority }))).toBeLessThan(3_000);
    }
    expect(most(backIn({ tenant, receiver: 'dead', priority: 'HIGH', count: 300 }))).toBeLessThan(minuteMs);
  });

  it('is back when it is wanted up to 25 of a line, of a tenant 25 a second in however many lines', () => {
    let now = 0;
    const clock = { now: () => now, monotonic: () => now, random: () => 0.5 };
    const [wanted, notes]: [number[], number[]] = [[], []];
    const comingBack = {
      place: (_: unknown, span: { readonly wanted: number }) => (wanted.push(span.wanted), span.wanted),
      note: (at: number) => void notes.push(at),
    };
    const deferrals = createDeferrals({ clock, comingBack });
    for (let second = 0; second < 4; second++, now += 1_000) {
      for (let i = 0; i < 100; i++)
        deferrals.take({ tenantId: 'tnt_a' as TenantId, awaited: `tnt_a\n${i}` }, 'DEFAULT', 60_000);
    }
    expect([notes.length, wanted.length]).toEqual([100, 300]);
  });

  it('comes back when it is wanted whatever crowds have booked, up to 25 of a line, and soon what is HIGH', () => {
    let now = 0;
    const clock = { now: () => now, monotonic: () => now, random: () => 0.5 };
    const comingBack = createComingBack({ clock });
    const bookings = createBookings({ clock, comingBack });
    for (let n = 0; n < 1_000; n++) for (let one = 0; one < 100; one++) bookings.book(`tnt_${one}` as TenantId, 64);
    now = 40_000;
    const deferrals = createDeferrals({ clock, comingBack });
    const dueOf = (receiver: string, priority: Priority, count: number) =>
      Array.from({ length: count }, () => {
        const of = { tenantId: 'tnt_anna' as TenantId, awaited: `tnt_anna\n${receiver}` };
        const deferral = deferrals.take(of, priority, 1_000);
        return deferral.kind === 'until' ? deferral.dueAt - now : NaN;
      });
    expect(most(dueOf('1', 'DEFAULT', 25))).toBeLessThan(2_500);
    expect(most(dueOf('2', 'HIGH', 50))).toBeLessThan(5_000);
  });
});
