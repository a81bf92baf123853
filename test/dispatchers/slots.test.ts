// Slots in flight: what is slow fills them up to a share, so that there is one for whoever comes next; turns and lanes say whose the others are.

import { describe, expect, it } from '@jest/globals';

import { defaultDispatcherLimits } from '../../src/dispatchers/limits.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import { ordinaryShare } from '../../src/domain/tenant.ts';
import { createRandom } from '../chaos/random.ts';
import fc from '../support/properties.ts';
import { simulateAttempts } from './attempts-simulated.ts';
import type { Simulation } from './attempts-simulated.ts';

/** Until its deadline. */
const hangsMs = 15_000;
const quickMs = 100;
const tookMs = (tenant: string) => (tenant.startsWith('hangs') ? hangsMs : quickMs);

/** More than they can begin in the time that the tests look at, in each of their lanes. */
function hanging(simulation: Simulation, count: number, lanes: readonly (typeof priorities)[number][]): void {
  for (let i = 0; i < count; i++) for (const lane of lanes) simulation.push(`hangs ${i}`, lane, 300);
}

const startsOf = ({ begun }: Pick<Simulation, 'begun'>, tenant: string) =>
  begun.filter((one) => one.tenant === tenant).length;

describe('a tenant alone', () => {
  it.each(channels)('has its whole cap in flight, in every lane of %s, though its receiver hangs', (channel) => {
    for (const lane of priorities) {
      const simulation = simulateAttempts({ tookMs, limits: defaultDispatcherLimits(channel) });
      // One after another, so that those before are slow already.
      for (let i = 0; i < 40; i++) {
        simulation.push('hangs 0', lane, 1);
        simulation.runTo(simulation.now + 200);
      }
      expect(simulation.inFlight()).toBe(32);
    }
  });

  it('has the cap that an operator gave it, as far as its channel has slots', () => {
    const simulation = simulateAttempts({ tookMs, shareOf: () => ({ weight: 1, inFlightMax: 256 }) });
    simulation.push('quick', 'BULK', 300);
    expect(simulation.inFlight()).toBe(192 - 6);
  });
});

describe('tenants whose receivers hang', () => {
  it.each(channels)(
    'leave the next one of %s a slot at once, however much the one weighs whose receivers have hung for an attempt',
    (channel) => {
      const limits = { ...defaultDispatcherLimits(channel), inFlightPerTenantProviderMax: 256 };
      const simulation = simulateAttempts({ tookMs, limits, shareOf: () => ({ weight: 50, inFlightMax: null }) });
      hanging(simulation, 1, ['DEFAULT', 'DEFAULT']);
      simulation.runTo(hangsMs + 1_000);
      simulation.push('next', 'DEFAULT', 1);
      simulation.runTo(hangsMs + 2_000);
      expect(startsOf(simulation, 'next')).toBe(1);
    },
  );

  it('leave a slot to the next one, however many there are and whenever it comes: within the deadline of an attempt at the latest', () => {
    const any = fc.record({ count: fc.integer({ min: 1, max: 190 }), atMs: fc.nat(4 * hangsMs) });
    fc.assert(
      fc.property(any, ({ count, atMs }) => {
        const simulation = simulateAttempts({ tookMs });
        hanging(simulation, count, ['DEFAULT', 'BULK']);
        simulation.runTo(atMs);
        simulation.push('next', 'BULK', 1);
        simulation.runTo(atMs + hangsMs);
        expect(startsOf(simulation, 'next')).toBe(1);
      }),
      { numRuns: 15 },
    );
  });

  it('leave it at once when they have hung for longer than one attempt', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 180 }), fc.nat(2 * hangsMs), (count, moreMs) => {
        const simulation = simulateAttempts({ tookMs });
        hanging(simulation, count, ['DEFAULT', 'BULK']);
        simulation.runTo(2 * hangsMs + moreMs);
        simulation.push('next', 'BULK', 1);
        expect(startsOf(simulation, 'next')).toBe(1);
      }),
      { numRuns: 15 },
    );
  });

  it("are six in DEFAULT and BULK: a seventh's BULK begins at once, and goes on as it comes", () => {
    const simulation = simulateAttempts({ tookMs });
    hanging(simulation, 6, ['DEFAULT', 'BULK']);
    simulation.runTo(5_000);
    simulation.push('next', 'BULK', 300);
    // One slot of 100 ms at first.
    expect(startsOf(simulation, 'next')).toBe(1);
    simulation.runTo(10_000);
    expect(startsOf(simulation, 'next')).toBeGreaterThan(45);
    // Then its share, as those that have hung make room.
    simulation.runTo(2 * hangsMs);
    expect(startsOf(simulation, 'next')).toBe(300);
    simulation.push('next', 'BULK', 300);
    expect(simulation.inFlight('next')).toBeGreaterThan(10);
  });

  it("are many in HIGH: another's BULK and DEFAULT begin within the deadline of an attempt, and go on", () => {
    const simulation = simulateAttempts({ tookMs });
    hanging(simulation, 20, ['HIGH']);
    simulation.runTo(5_000);
    for (const lane of ['DEFAULT', 'BULK'] as const) simulation.push('next', lane, 300);
    simulation.runTo(5_000 + 2 * hangsMs);
    expect(startsOf(simulation, 'next')).toBe(600);
  });

  it('in BULK leave HIGH its own slots, and those that are free of all', () => {
    const simulation = simulateAttempts({ tookMs });
    hanging(simulation, 50, ['BULK']);
    simulation.runTo(5_000);
    const before = simulation.inFlight();
    for (let i = 0; i < 3; i++) simulation.push(`quick ${i}`, 'HIGH', 100);
    expect(simulation.inFlight() - before).toBeGreaterThanOrEqual(64 - 6);
  });
});

describe('when more waits than there are slots', () => {
  const seeds = { seed: fc.integer({ min: 0, max: 1_000_000 }) };

  /** Everybody has more than he can begin, and receivers take 50 to 150 ms. */
  function busy(of: {
    seed: number;
    tenants: number;
    lanes: readonly (typeof priorities)[number][];
    pushed: number;
    turnMs?: number;
  }): Simulation {
    const random = createRandom(of.seed);
    const simulation = simulateAttempts({
      tookMs: () => random.between(50, 150),
      turnMs: of.turnMs ?? 0,
      shareOf: (tenant) => (tenant === 'heavy' ? { weight: 3, inFlightMax: null } : ordinaryShare),
    });
    const tenants = ['heavy', ...Array.from({ length: of.tenants - 1 }, (_, i) => `tenant ${i}`)];
    for (const tenant of tenants) for (const lane of of.lanes) simulation.push(tenant, lane, of.pushed);
    return simulation;
  }

  it('lanes have their shares of 70 : 25 : 5, within 5 %', () => {
    fc.assert(
      fc.property(fc.record(seeds), ({ seed }) => {
        const simulation = busy({ seed, tenants: 20, lanes: priorities, pushed: 700 });
        simulation.runTo(5_000);
        const counted = simulation.begun.slice(1_000);
        const shareOf = (lane: string) => counted.filter(({ priority }) => priority === lane).length / counted.length;
        expect(counted.length).toBeGreaterThan(8_000);
        for (const [lane, share] of [
          ['HIGH', 0.7],
          ['DEFAULT', 0.25],
          ['BULK', 0.05],
        ] as const) {
          expect(Math.abs(shareOf(lane) / share - 1)).toBeLessThan(0.05);
        }
      }),
      { numRuns: 3 },
    );
  });

  const lane = fc.constantFrom(...priorities);

  it('of 49 tenants of equal weight each has the same within 10 %, and one of weight 3 beside them three times as much', () => {
    fc.assert(
      fc.property(fc.record({ ...seeds, lane, turnMs: fc.constantFrom(0, 5, 10) }), ({ seed, lane, turnMs }) => {
        const simulation = busy({ seed, tenants: 50, lanes: [lane], pushed: 1_500, turnMs });
        simulation.runTo(8_000);
        // Without what those who came first began before the others came.
        const begun = simulation.begun.slice(1_000);
        const counts = Array.from({ length: 49 }, (_, i) => startsOf({ begun }, `tenant ${i}`));
        const mean = counts.reduce((sum, one) => sum + one, 0) / counts.length;
        expect(mean).toBeGreaterThan(200);
        for (const one of counts) expect(Math.abs(one / mean - 1)).toBeLessThan(0.1);
        expect(Math.abs(startsOf({ begun }, 'heavy') / mean / 3 - 1)).toBeLessThan(0.1);
      }),
      { numRuns: 4, examples: [[{ seed: 1, lane: 'BULK', turnMs: 10 }]] },
    );
  });
});
