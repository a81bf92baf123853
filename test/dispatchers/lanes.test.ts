// The lanes: shares by weight, nothing left idle, nobody starved.

import { describe, expect, it } from '@jest/globals';

import { priorities } from '../../src/domain/events.ts';
import type { Priority } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { createLanes, laneWeights } from '../../src/dispatchers/lanes.ts';
import type { Lanes } from '../../src/dispatchers/lanes.ts';
import fc from '../support/properties.ts';

const tenant = 'tnt_a' as TenantId;

const ofOneTenant = { isHeld: () => false, weightOf: () => 1 };

function filled(depths: Partial<Record<Priority, number>>): Lanes<Priority> {
  const lanes = createLanes<Priority>(ofOneTenant);
  for (const priority of priorities) {
    for (let i = 0; i < (depths[priority] ?? 0); i++) lanes.push(priority, tenant, priority);
  }
  return lanes;
}

function counts(lanes: Lanes<Priority>, starts: number): Record<Priority, number> {
  const counted = { HIGH: 0, DEFAULT: 0, BULK: 0 };
  for (let i = 0; i < starts; i++) {
    const taken = lanes.take();
    if (taken !== undefined) counted[taken]++;
  }
  return counted;
}

const anyDepths = fc.record({ HIGH: fc.nat(40), DEFAULT: fc.nat(40), BULK: fc.nat(40) });

describe('the lanes', () => {
  it('share 100 starts 70 : 25 : 5 when all have work', () => {
    expect(counts(filled({ HIGH: 500, DEFAULT: 500, BULK: 500 }), 100)).toEqual({ HIGH: 70, DEFAULT: 25, BULK: 5 });
  });

  it("give an idle lane's share to the others, by their weights", () => {
    const { DEFAULT, BULK } = counts(filled({ DEFAULT: 500, BULK: 500 }), 60);
    expect({ DEFAULT, BULK }).toEqual({ DEFAULT: 50, BULK: 10 });
    expect(counts(filled({ BULK: 500 }), 60).BULK).toBe(60);
  });

  it('let a HIGH item go first however many BULK ones wait and were served', () => {
    const lanes = filled({ BULK: 2000 });
    counts(lanes, 1000);
    lanes.push('HIGH', tenant, 'HIGH');
    expect(counts(lanes, 2).HIGH).toBe(1);
  });

  it('let a lane that waited for nothing save nothing up', () => {
    const lanes = filled({ HIGH: 2000 });
    counts(lanes, 1000);
    for (let i = 0; i < 500; i++) lanes.push('BULK', tenant, 'BULK');
    expect(counts(lanes, 100).BULK).toBeLessThanOrEqual(8);
  });

  it('that get a slot now and then, while HIGH goes on in its own, share those 25 : 5, and HIGH none of them', () => {
    const lanes = filled({ HIGH: 20_000, DEFAULT: 1000, BULK: 1000 });
    const counted = { HIGH: 0, DEFAULT: 0, BULK: 0 };
    for (let i = 0; i < 600; i++) {
      for (let start = 0; start < 20; start++) lanes.takeFrom('HIGH');
      const taken = lanes.take();
      if (taken !== undefined) counted[taken]++;
    }
    expect(counted).toEqual({ HIGH: 0, DEFAULT: 500, BULK: 100 });
  });

  it('that waited for room are owed what HIGH had meanwhile, up to a limit', () => {
    const lanes = filled({ HIGH: 20_000, BULK: 1000 });
    for (let start = 0; start < 5_000; start++) lanes.takeFrom('HIGH');
    expect(counts(lanes, 400).BULK).toBeLessThanOrEqual(400 / 15 + 21);
    expect(counts(lanes, 150)).toEqual({ HIGH: 140, DEFAULT: 0, BULK: 10 });
  });

  it('are work-conserving: what was pushed comes out, each once, and then nothing', () => {
    fc.assert(
      fc.property(anyDepths, (depths) => {
        const lanes = filled(depths);
        const total = depths.HIGH + depths.DEFAULT + depths.BULK;
        expect(counts(lanes, total)).toEqual(depths);
        expect(lanes.take()).toBeUndefined();
      }),
    );
  });

  it('starve none: with all refilled, in any history of pushes, BULK waits for 21 other starts at most', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ idle: fc.constantFrom(...priorities), starts: fc.nat(50) })), (history) => {
        const lanes = createLanes<Priority>(ofOneTenant);
        for (const { idle, starts } of history) {
          for (const priority of priorities) if (priority !== idle) lanes.push(priority, tenant, priority);
          counts(lanes, starts);
        }
        for (const priority of priorities) for (let i = 0; i < 200; i++) lanes.push(priority, tenant, priority);
        const served = counts(lanes, 22);
        expect(served.BULK).toBeGreaterThanOrEqual(1);
        expect(served.DEFAULT).toBeGreaterThanOrEqual(4);
      }),
    );
  });

  it('tell their depth, and forget what is removed', () => {
    const lanes = filled({ HIGH: 3, BULK: 2 });
    lanes.removeWhere((item) => item === 'HIGH');
    expect(priorities.map(lanes.depth)).toEqual([0, 0, 2]);
    expect(lanes.take()).toBe('BULK');
  });

  it('have weights that sum up to 100', () => {
    expect(priorities.reduce((sum, priority) => sum + laneWeights[priority], 0)).toBe(100);
  });
});
