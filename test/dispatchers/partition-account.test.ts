// Whatever order things come in: each event is taken once, a tenant's in their order, and a restart takes again exactly what was unfinished.

import { describe, expect, it } from '@jest/globals';

import { createBookings } from '../../src/dispatchers/bookings.ts';
import { createComingBack } from '../../src/dispatchers/coming-back.ts';
import { accountLimits, createPartitionAccount } from '../../src/dispatchers/partition-account.ts';
import type { AccountLimits } from '../../src/dispatchers/partition-account.ts';
import { decodePosition, encodePosition, laggardsMax, tenantKey } from '../../src/dispatchers/position-text.ts';
import { isHungry, mayHold } from '../../src/dispatchers/shares.ts';
import type { Work } from '../../src/dispatchers/shares.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const start = { offset: 0, metadata: '' };

function memoryOf(bytesMax: number) {
  let held = 0;
  return {
    free: () => bytesMax - held,
    reserve: 6,
    weightOf: () => 1,
    isPaused: () => false,
    hold(bytes: number) {
      held += bytes;
    },
  };
}

/** A partition whose events the test makes, read as a dispatcher reads it. */
function reader(log: readonly Work[], position = start, bytesMax = 20, limits: AccountLimits = accountLimits) {
  const clock = { monotonic: () => 0, random: () => 0.5 };
  const bookings = createBookings({ clock, comingBack: createComingBack({ clock }) });
  const account = createPartitionAccount(position, { memory: memoryOf(bytesMax), bookings }, limits);
  const taken: Work[] = [];
  let at = log.findIndex(({ offset }) => offset >= account.start);
  if (at < 0) at = log.length;
  return {
    account,
    taken,
    /** What was taken and isn't finished. */
    open: new Set<Work>(),
    /** What of that is on its way to the scheduler. */
    leaving: new Set<Work>(),
    readOn(count: number) {
      for (const work of log.slice(at, at + count)) {
        if (!account.mayReadOn()) return;
        at++;
        const admission = account.admit(work);
        if (admission === 'taken' || admission === 'crowded') this.take(work);
        if (admission === 'crowded') this.leave(work);
      }
    },
    /** What waits and is in reading's way leaves. */
    look() {
      for (const work of this.open) if (!this.leaving.has(work) && account.isInReadingsWay(work)) this.leave(work);
    },
    leave(work: Work) {
      this.leaving.add(work);
      account.leaveUntilTurn(work);
    },
    comeBack(offsetsMax: number) {
      const range = account.comeBack(offsetsMax);
      if (range === null) return false;
      let seenBelow = range.to;
      for (const work of log.filter(({ offset }) => offset >= range.from && offset < range.to)) {
        const seen = range.see(work);
        if (seen === 'taken') this.take(work);
        if (seen === 'full') {
          seenBelow = work.offset;
          break;
        }
      }
      range.end(seenBelow);
      return true;
    },
    take(work: Work) {
      taken.push(work);
      this.open.add(work);
    },
    finish(work: Work) {
      this.open.delete(work);
      this.leaving.delete(work);
      account.finish(work);
    },
  };
}

const later = (work: Work, by: number): Work => ({ ...work, offset: work.offset + by });
const holder = (bytes: number) => ({ tenantId: 'tnt_0' as TenantId, bytes });

const anyLog = fc
  .array(fc.record({ tenant: fc.nat(3), gap: fc.constantFrom(1, 1, 1, 1, 7), bytes: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((events) => {
    let offset = -1;
    return events.map(({ tenant, gap, bytes }): Work => {
      offset += gap;
      return { tenantId: `tnt_${tenant}` as TenantId, offset, bytes };
    });
  });

const anyStep = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), n: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant('back' as const), n: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant('finish' as const), n: fc.nat(1000) }),
  fc.record({ kind: fc.constant('look' as const), n: fc.constant(0) }),
  fc.record({ kind: fc.constant('commit' as const), n: fc.constant(0) }),
  fc.record({ kind: fc.constant('restart' as const), n: fc.constant(0) }),
  fc.record({ kind: fc.constant('committed restart' as const), n: fc.constant(0) }),
);

const anyLimits = fc.constantFrom(
  accountLimits,
  { ...accountLimits, eventsMax: 5, laggardsMax: 3 },
  { ...accountLimits, eventsMax: 8, laggardsMax: 1, heldMax: 2 },
  { ...accountLimits, eventsMax: 10, laggardsMax: 0, leavingMax: 2 },
);

describe('the account of a partition', () => {
  it('takes each event once between restarts, a tenant by the order of its events, and after one again exactly what was not finished at the commit', () => {
    fc.assert(
      fc.property(anyLog, fc.array(anyStep, { maxLength: 60 }), anyLimits, (log, steps, limits) => {
        let committed = start;
        let durable = new Set<number>();
        let finished = new Set<number>();
        let life = reader(log, committed, 20, limits);
        const restart = () => {
          finished = new Set(durable);
          life = reader(log, committed, 20, limits);
        };
        const check = () => {
          const offsets = life.taken.map(({ offset }) => offset);
          expect(new Set(offsets).size).toBe(offsets.length);
          expect(offsets.filter((offset) => durable.has(offset) && !finishedHere.has(offset))).toEqual([]);
          for (const tenant of new Set(life.taken.map(({ tenantId }) => tenantId))) {
            const own = life.taken.filter(({ tenantId }) => tenantId === tenant).map(({ offset }) => offset);
            expect(own).toEqual(own.toSorted((a, b) => a - b));
          }
        };
        let finishedHere = new Set<number>();
        const finishOne = (pick: number) => {
          const work = [...life.open][pick % Math.max(1, life.open.size)];
          if (work === undefined) return;
          life.finish(work);
          finished.add(work.offset);
          finishedHere.add(work.offset);
        };
        for (const { kind, n } of steps) {
          if (kind === 'read') life.readOn(n);
          if (kind === 'back') life.comeBack(n);
          if (kind === 'finish') finishOne(n);
          if (kind === 'look') life.look();
          if (kind === 'commit' || kind === 'committed restart') {
            committed = life.account.position();
            durable = new Set(finished);
            expect(committed.metadata.length).toBeLessThanOrEqual(4096);
            expect(log.every(({ offset }) => offset >= committed.offset || finished.has(offset))).toBe(true);
          }
          if (kind === 'restart' || kind === 'committed restart') {
            check();
            finishedHere = new Set();
            restart();
          }
        }
        // To the end: nothing is forgotten.
        for (let rounds = 0; finished.size < log.length; rounds++) {
          expect(rounds).toBeLessThan(2_000);
          life.readOn(10);
          life.comeBack(10);
          finishOne(0);
        }
        check();
        while (life.comeBack(1_000));
        life.readOn(1_000);
        const end = life.account.position();
        expect(end.metadata).toBe('');
        expect(end.offset).toBeGreaterThan(log.at(-1)?.offset ?? 0);
      }),
      { numRuns: 500 },
    );
  });

  it('knows after two restarts what was finished before the first, of a tenant that lags since', () => {
    const log = Array.from({ length: 8 }, (_, offset): Work => ({ tenantId: 'tnt_0' as TenantId, offset, bytes: 2 }));
    const first = reader(log);
    first.readOn(3);
    for (const work of first.open) if (work.offset === 1) first.finish(work);
    const second = reader(log, first.account.position());
    second.readOn(8);
    expect(decodePosition(second.account.position()).laggards).toHaveLength(1);
    const third = reader(log, second.account.position());
    third.readOn(8);
    while (third.comeBack(1_000)) for (const work of third.open) third.finish(work);
    expect(third.taken.map(({ offset }) => offset)).toEqual([0, 2, 3, 4, 5, 6, 7]);
  });

  it('knows of a tenant that lags after a restart what of it was finished before, though it is read later', () => {
    const log = Array.from({ length: 12 }, (_, offset): Work => ({ tenantId: 'tnt_0' as TenantId, offset, bytes: 2 }));
    const first = reader(log, start, 100);
    first.readOn(9);
    for (const work of first.open) if ([5, 7].includes(work.offset)) first.finish(work);
    const second = reader(log, first.account.position());
    second.readOn(12);
    expect(second.account.hasWorkOf('tnt_0' as TenantId)).toBe(true);
    const committed = second.account.position();
    expect(decodePosition(committed).laggards).toHaveLength(1);
    for (const life of [second, reader(log, committed)]) {
      life.readOn(12);
      do for (const work of life.open) life.finish(work);
      while (life.comeBack(1_000));
      expect(life.taken.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4, 6, 8, 9, 10, 11]);
    }
  });

  it('never stands behind one that hangs: where the window is full its tenant speaks for itself', () => {
    const log = Array.from({ length: 50_000 }, (_, offset): Work => {
      return { tenantId: (offset === 10 ? 'tnt_hangs' : `tnt_${offset % 7}`) as TenantId, offset, bytes: 1 };
    });
    const life = reader(log, start, 1_000);
    while (life.taken.length < log.length) {
      life.readOn(64);
      for (const work of life.open) if (work.offset !== 10) life.finish(work);
    }
    const position = life.account.position();
    expect(position.offset).toBe(10);
    expect(position.metadata.length).toBeLessThan(100);
    const again = reader(log, position, 1_000);
    again.readOn(50_000);
    while (again.comeBack(1_000));
    expect(again.taken.map(({ offset }) => offset)).toEqual([10]);
  });
});

const tenant = (i: number) => `tnt_${i}` as TenantId;
const workOf = (i: number, offset: number, bytes = 5): Work => ({ tenantId: tenant(i), offset, bytes });

describe('where no more tenants may lag', () => {
  const limits = { ...accountLimits, laggardsMax: 1, heldMax: 3 };
  /** The first one lags, and holds all but the reserve; so does the second, as soon as there is room. */
  const crowd = [workOf(0, 0, 20), workOf(0, 1), workOf(1, 2), workOf(1, 3), workOf(1, 4)];

  it('what has no room leaves for the scheduler, and reading goes on', () => {
    const { account } = reader([], start, 26, limits);
    expect(crowd.map(account.admit)).toEqual(['taken', 'surplus', 'taken', 'crowded', 'crowded']);
    expect(account.mayReadOn()).toBe(true);
    for (const work of crowd.slice(3)) account.finish(work);
    expect(account.admit(workOf(2, 5, 1))).toBe('taken');
  });

  it('nobody holds more than is in flight and as much again, however small it is', () => {
    const { account } = reader([], start, 1_000, limits);
    expect([account.admit(workOf(0, 0, 900)), account.admit(workOf(0, 1, 900))]).toEqual(['taken', 'surplus']);
    const small = Array.from({ length: 5 }, (_, i) => workOf(1, i + 2, 1));
    expect(small.map(account.admit)).toEqual(['taken', 'taken', 'taken', 'crowded', 'crowded']);
    account.finish(workOf(1, 2, 1));
    expect(account.admit(workOf(1, 9, 1))).toBe('taken');
  });

  it('reading waits until what leaves is durable, once it is much, and for nobody’s pace', () => {
    for (const few of [{ leavingMax: 2 }, { leavingBytesMax: 10 }]) {
      const { account } = reader([], start, 26, { ...limits, ...few });
      for (const work of crowd) account.admit(work);
      expect(account.mayReadOn()).toBe(false);
      account.finish(workOf(1, 4));
      expect(account.mayReadOn()).toBe(true);
    }
  });

  it('a tenant lags again when somebody else is done, and what leaves of it is still unfinished until that is durable', () => {
    const life = reader([...crowd, workOf(1, 5)], start, 26, limits);
    life.readOn(5);
    for (const work of life.open) if (work.tenantId === tenant(0)) life.finish(work);
    while (life.comeBack(1_000));
    for (const work of life.open) if (work.tenantId === tenant(0)) life.finish(work);
    life.account.admit(workOf(1, 6, 30));
    const { laggards } = decodePosition(life.account.position());
    expect(laggards.map(({ key }) => key)).toEqual([tenantKey(tenant(1))]);
    const again = reader([...crowd, workOf(1, 5)], life.account.position(), 100, limits);
    again.readOn(6);
    while (again.comeBack(1_000));
    expect(again.taken.map(({ offset }) => offset)).toEqual([2, 3, 4, 5]);
  });

  it('what waits in the older half of a window that is full leaves, so that reading goes on', () => {
    const log = Array.from({ length: 40 }, (_, i) => workOf(i % 4 === 0 ? 1 : 10 + i, i + 2, 1));
    const life = reader([workOf(0, 0, 900), workOf(0, 1, 900), ...log], start, 2_000, {
      ...limits,
      eventsMax: 20,
      heldMax: 100,
    });
    life.readOn(100);
    for (const work of life.open) if (work.tenantId !== tenant(0) && work.tenantId !== tenant(1)) life.finish(work);
    expect(life.account.mayReadOn()).toBe(false);
    expect([...life.open].filter(life.account.isInReadingsWay).map(({ offset }) => offset)).toEqual([2, 6, 10]);
    life.look();
    for (const work of life.leaving) life.finish(work);
    expect(life.account.mayReadOn()).toBe(true);
    life.readOn(8);
    expect(life.taken).toHaveLength(29);
  });

  it('and nothing leaves as long as more may lag', () => {
    const log = Array.from({ length: 40 }, (_, i) => workOf(i % 4, i, 1));
    const life = reader(log, start, 2_000, { ...accountLimits, eventsMax: 20 });
    life.readOn(100);
    expect(life.taken).toHaveLength(40);
    expect([...life.open].filter(life.account.isInReadingsWay)).toEqual([]);
  });
});

describe('a tenant is in others’ way', () => {
  it('where it lags and three quarters of those that may lag do', () => {
    const log = Array.from({ length: 8 }, (_, offset): Work => {
      return { tenantId: tenant(Math.floor(offset / 2)), offset, bytes: 3 };
    });
    // All that isn't reserved is held, so the second of each makes it lag.
    const life = reader(
      [{ tenantId: tenant(9), offset: 0, bytes: 14 }, ...log.map((work) => later(work, 1))],
      start,
      26,
      {
        ...accountLimits,
        laggardsMax: 4,
      },
    );
    life.readOn(5);
    expect([0, 1].map((i) => life.account.isInOthersWay(tenant(i)))).toEqual([false, false]);
    life.readOn(2);
    expect([0, 1, 2, 9].map((i) => life.account.isInOthersWay(tenant(i)))).toEqual([true, true, true, false]);
  });

  it('where what of it had no room has left', () => {
    const { account } = reader([], start, 1_000, { ...accountLimits, laggardsMax: 1 });
    for (const work of [workOf(0, 0, 900), workOf(0, 1, 900), workOf(1, 2)]) account.admit(work);
    expect(account.isInOthersWay(tenant(1))).toBe(false);
    account.admit(workOf(1, 3, 50));
    account.leaveUntilTurn(workOf(1, 3, 50));
    expect(account.isInOthersWay(tenant(1))).toBe(true);
  });

  it('where it holds something and less than half of the reserve is free', () => {
    const log = [0, 1, 2].map((i): Work => ({ tenantId: tenant(i), offset: i, bytes: 6 }));
    const life = reader(log);
    life.readOn(2);
    expect(life.account.isInOthersWay(tenant(0))).toBe(false);
    life.readOn(1);
    expect([0, 1, 2, 9].map((i) => life.account.isInOthersWay(tenant(i)))).toEqual([true, true, true, false]);
  });
});

describe('the text of a position', () => {
  it('is read back as it was written, and fits into a commit, however many lag and however much of each is under way', () => {
    const anyRun = fc.record({ step: fc.integer({ min: 1, max: 5_000 }), length: fc.constantFrom(1, 1, 1, 300) });
    const anyState = fc.array(fc.record({ first: fc.nat(3_000_000), runs: fc.array(anyRun, { maxLength: 40 }) }), {
      minLength: 1,
      maxLength: laggardsMax,
    });
    fc.assert(
      fc.property(anyState, fc.nat(3_000_000), (tenants, mark) => {
        const laggards = tenants.map(({ first, runs }, i) => {
          let at = 1_000_000_000 + first;
          const unfinished = runs.map(({ step, length }) => ({ from: (at += step), to: (at += length) }));
          return { key: tenantKey(`tnt_${i}`), unfinished, resume: at + 1 };
        });
        const window = { offset: 1_000_000_000 + mark, metadata: 'A'.repeat(2048) };
        const position = encodePosition({ window, laggards });
        expect(position.metadata.length).toBeLessThanOrEqual(4096);
        const back = decodePosition(position);
        expect(back.window).toEqual(window);
        expect(back.laggards.map(({ key }) => key)).toEqual(laggards.map(({ key }) => key));
        for (const [i, { unfinished, resume }] of back.laggards.entries()) {
          const whole = laggards[i];
          // What was cut counts as unfinished from there on.
          expect(whole?.unfinished.slice(0, unfinished.length)).toEqual(unfinished);
          expect(resume).toBe(whole?.unfinished[unfinished.length]?.from ?? whole?.resume);
        }
      }),
    );
  });

  it('says of 64 tenants that wait, each with some that ended in the middle of hundreds, all that is finished', () => {
    const tenants = Array.from({ length: laggardsMax }, (_, i) => `tnt_${i}` as TenantId);
    const log = Array.from({ length: laggardsMax * 200 }, (_, offset): Work => {
      const tenantId = tenants[offset % laggardsMax] as TenantId;
      return { tenantId, offset, bytes: 1 };
    });
    const memory = laggardsMax * 120;
    // Each the 60th to the 70th of what it holds: cancelled one by one, while all wait.
    const ended = log.filter(({ offset }) => offset >= 60 * laggardsMax && offset < 70 * laggardsMax);
    let life = reader(log, start, memory);
    life.readOn(log.length);
    for (const work of ended) life.finish(work);
    for (let restarts = 0; restarts < 3; restarts++) {
      life = reader(log, life.account.position(), memory);
      life.readOn(log.length);
      while (life.comeBack(1_000));
      const again = new Set(life.taken.map(({ offset }) => offset));
      expect(ended.filter(({ offset }) => again.has(offset))).toEqual([]);
    }
    for (let rounds = 0; rounds < 1_000 && life.open.size > 0; rounds++) {
      for (const work of life.open) life.finish(work);
      life.readOn(log.length);
      while (life.comeBack(1_000));
    }
    expect(life.taken.map(({ offset }) => offset).toSorted((a, b) => a - b)).toEqual(
      log.filter((work) => !ended.includes(work)).map(({ offset }) => offset),
    );
  });

  it('says what has ended behind one that hangs, also where that was much and then more waits than can be listed', () => {
    const log = Array.from({ length: 4_000 }, (_, offset): Work => ({ tenantId: tenant(0), offset, bytes: 1 }));
    const life = reader(log, start, 5_000);
    life.readOn(1);
    const delivered = log.slice(1, 202);
    for (const work of delivered) {
      life.readOn(1);
      life.finish(work);
    }
    life.readOn(log.length);
    const [late] = log.slice(2_400);
    if (late !== undefined) life.finish(late);
    const position = life.account.position();
    expect(position.metadata).toContain('..');
    const after = reader(log, position, 5_000);
    after.readOn(log.length);
    while (after.comeBack(1_000));
    const again = new Set(after.taken.map(({ offset }) => offset));
    expect(delivered.filter(({ offset }) => again.has(offset))).toEqual([]);
  });

  it('that is none says nothing, and one that is cut says nothing either', () => {
    for (const metadata of ['.', '.A', 'AB.', '{"not":"ours"}', '.AAAA']) {
      const { window, laggards } = decodePosition({ offset: 5, metadata });
      expect(laggards).toEqual([]);
      expect(window.offset).toBe(5);
    }
  });
});

describe('the shares of a memory', () => {
  const anyAsked = fc.array(fc.record({ who: fc.nat(9), bytes: fc.integer({ min: 1, max: 50 }) }), { maxLength: 300 });

  it('leave to whoever comes next as much as the largest has, and are never more than the memory', () => {
    fc.assert(
      fc.property(anyAsked, (asked) => {
        const held = new Map<number, number>();
        const memory = { ...memoryOf(500), reserve: 50 };
        for (const { who, bytes } of asked) {
          const own = held.get(who) ?? 0;
          if (!mayHold(holder(own), bytes, memory)) continue;
          held.set(who, own + bytes);
          memory.hold(bytes);
          if (own > 0) expect(own + bytes).toBeLessThanOrEqual(memory.free() - 50);
          expect(memory.free()).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it('follow the weights: whoever has three turns for one of the others holds three times what each of them holds', () => {
    const memory = { ...memoryOf(5_000), reserve: 50, weightOf: (tenant: string) => (tenant === 'heavy' ? 3 : 1) };
    const held = new Map(['heavy', ...Array.from({ length: 20 }, (_, i) => `tnt_${i}`)].map((tenant) => [tenant, 0]));
    // Everybody is done with a tenth, and takes what he may.
    for (let n = 0; n < 200; n++)
      for (const [tenant, before] of held) {
        let bytes = Math.floor(before * 0.9);
        memory.hold(bytes - before);
        for (; mayHold({ tenantId: tenant as TenantId, bytes }, 1, memory); bytes++) memory.hold(1);
        held.set(tenant, bytes);
      }
    const [heavy = 0, ...others] = held.values();
    for (const other of others) expect(Math.abs(heavy - 3 * other)).toBeLessThanOrEqual(4);
    expect(memory.free() - 50).toBeGreaterThanOrEqual(Math.max(...others));
  });

  it('let one that holds nothing take the largest event, however many floods of small ones there are', () => {
    const memory = { ...memoryOf(500), reserve: 50 };
    for (let who = 0; who < 6; who++) for (let own = 0; mayHold(holder(own), 1, memory); own++) memory.hold(1);
    expect(memory.free() - 50).toBeLessThan(10);
    expect(mayHold(holder(0), 50, memory)).toBe(true);
    expect(mayHold(null, 50, memory)).toBe(true);
    expect(mayHold(holder(1), 50, memory)).toBe(false);
  });

  it('of those that wait for their provider are small: eight leave more than a third to whoever comes next, and all of them the reserve', () => {
    const memory = { ...memoryOf(1_000), reserve: 100, isPaused: (tenant: string) => tenant !== 'tnt_healthy' };
    for (let who = 0; who < 8; who++) {
      const paused = { tenantId: `tnt_${who}` as TenantId, bytes: 0 };
      for (; mayHold(paused, 1, memory); paused.bytes++) memory.hold(1);
      expect(isHungry(paused, memory)).toBe(false);
    }
    const healthy = { tenantId: 'tnt_healthy' as TenantId, bytes: 0 };
    const withoutThem = 450;
    for (; mayHold(healthy, 1, memory); healthy.bytes++) memory.hold(1);
    expect(healthy.bytes).toBeGreaterThan(withoutThem / 3);
    memory.hold(memory.free() - 100);
    expect(mayHold({ ...healthy, bytes: 0 }, 100, memory)).toBe(true);
    expect(mayHold(holder(0), 1, memory)).toBe(false);
  });

  it('are worth coming back for at half', () => {
    const memory = { ...memoryOf(150), reserve: 50 };
    expect(isHungry(holder(50), memory)).toBe(true);
    expect(isHungry(holder(51), memory)).toBe(false);
    const heavy = { ...memory, weightOf: () => 3 };
    expect(isHungry(holder(150), heavy)).toBe(true);
    expect(isHungry(holder(151), heavy)).toBe(false);
  });
});
