// Turns between tenants, and tenants that are held.

import { describe, expect, it } from '@jest/globals';

import { createFairQueue } from '../../src/dispatchers/fair-queue.ts';
import type { FairQueue } from '../../src/dispatchers/fair-queue.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const [a, b, c] = ['a', 'b', 'c'] as unknown as [TenantId, TenantId, TenantId];

/** Turns between tenants of weight 1. */
function queueOf<T>(isHeld: (tenantId: TenantId) => boolean, isOlder?: (a: T, b: T) => boolean): FairQueue<T> {
  return createFairQueue<T>({ isHeld, weightOf: () => 1, ...(isOlder === undefined ? {} : { isOlder }) });
}

function drain(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

function fill(queue: FairQueue<string>, tenantId: TenantId, count: number): void {
  for (let i = 1; i <= count; i++) queue.push(tenantId, `${tenantId}${i}`);
}

describe('the fair queue', () => {
  it('serves tenants in turn and each in the order of its items', () => {
    const queue = queueOf<string>(() => false);
    fill(queue, a, 4);
    fill(queue, b, 2);
    fill(queue, c, 1);
    expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('makes a tenant wait for one item of each other tenant at most', () => {
    const queue = queueOf<string>(() => false);
    fill(queue, a, 2000);
    drainSome(queue, 500);
    queue.push(b, 'b1');
    expect(drainSome(queue, 2)).toContain('b1');
  });

  it('passes a held tenant over, and lets it be the next when it is released: it kept its place', () => {
    const held = new Set<TenantId>([a]);
    const queue = queueOf<string>((tenantId) => held.has(tenantId));
    fill(queue, a, 2);
    fill(queue, b, 2);
    fill(queue, c, 2);
    expect(queue.take()).toBe('b1');
    held.delete(a);
    queue.release(a);
    expect(drain(queue)).toEqual(['a1', 'c1', 'b2', 'a2', 'c2']);
  });

  it('serves a tenant as many items in a turn as it weighs, whatever it weighed before', () => {
    const weights = new Map<TenantId, number>([[a, 3]]);
    const queue = createFairQueue<string>({ isHeld: () => false, weightOf: (of) => weights.get(of) ?? 1 });
    fill(queue, a, 8);
    fill(queue, b, 5);
    expect(drainSome(queue, 8)).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'a5', 'a6', 'b2']);
    weights.set(a, 1).set(b, 2);
    expect(drain(queue)).toEqual(['a7', 'b3', 'b4', 'a8', 'b5']);
  });

  it('gives tenants that always have work shares by their weights, within a turn', () => {
    const anyWeights = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(anyWeights, fc.integer({ min: 1, max: 40 }), (weights, rounds) => {
        const tenants = weights.map((_, i) => `t${i}` as TenantId);
        const weightOf = (of: TenantId) => weights[tenants.indexOf(of)] ?? 1;
        const queue = createFairQueue<TenantId>({ isHeld: () => false, weightOf });
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        for (const tenant of tenants) for (let i = 0; i < rounds * total; i++) queue.push(tenant, tenant);
        const served = new Map<TenantId, number>();
        for (let i = 0; i < rounds * total; i++) {
          const tenant = queue.take();
          if (tenant !== undefined) served.set(tenant, (served.get(tenant) ?? 0) + 1);
        }
        for (const tenant of tenants) expect(served.get(tenant)).toBe(rounds * weightOf(tenant));
      }),
    );
  });

  it('lets no other begin between the items of a turn, however few there is room for at a time', () => {
    const others = Array.from({ length: 10 }, (_, i) => `t${i}` as TenantId);
    for (const together of [1, 2, 3, 7]) {
      let left = 0;
      const queue = createFairQueue<TenantId>({
        isHeld: () => false,
        weightOf: (of) => (of === a ? 3 : 1),
        room: { isFull: () => left === 0, isFor: () => left > 0 },
      });
      for (const tenant of [a, ...others]) for (let i = 0; i < 50; i++) queue.push(tenant, tenant);
      const taken: TenantId[] = [];
      while (taken.length < 130) {
        for (left = together; left > 0; left--) taken.push(queue.take() ?? b);
        expect(queue.isReady()).toBe(false);
      }
      for (let n = 0; n < 130; n += 13) expect(taken.slice(n, n + 13)).toEqual([a, a, a, ...others]);
    }
  });

  it('gives nothing when every tenant is held, though it has items', () => {
    const queue = queueOf<string>(() => true);
    fill(queue, a, 2);
    expect(queue.isReady()).toBe(false);
    expect(queue.take()).toBeUndefined();
    expect(queue.size).toBe(2);
  });

  it('asks after a parked tenant no more until it is released', () => {
    let asked = 0;
    const queue = queueOf<string>(() => {
      asked++;
      return true;
    });
    fill(queue, a, 1000);
    for (let i = 0; i < 100; i++) queue.take();
    expect(asked).toBe(1);
  });

  it('puts an item back as the next of its tenant', () => {
    const queue = queueOf<string>(() => false);
    fill(queue, a, 3);
    const first = queue.take();
    queue.putBack(a, first ?? '');
    expect(drain(queue)).toEqual(['a1', 'a2', 'a3']);
    queue.putBack(b, 'b1');
    expect(drain(queue)).toEqual(['b1']);
  });

  it('puts what was taken back to its place, in whatever order it comes back', () => {
    const anyTaken = fc.record({ length: fc.integer({ min: 1, max: 200 }), taken: fc.nat(40), seed: fc.integer() });
    fc.assert(
      fc.property(anyTaken, ({ length, taken, seed }) => {
        const queue = queueOf<number>(
          () => false,
          (one, other) => one < other,
        );
        const items = Array.from({ length }, (_, i) => i);
        for (const item of items) queue.push(a, item);
        const out = Array.from({ length: Math.min(taken, length) }, () => queue.take() ?? -1);
        for (const item of out.sort((one, other) => ((one * 7919 + seed) % 97) - ((other * 7919 + seed) % 97))) {
          queue.putBack(a, item);
        }
        expect(Array.from({ length }, () => queue.take())).toEqual(items);
        expect(queue.size).toBe(0);
      }),
    );
  });

  it('removes what is named, parked tenants included, and goes on in turn', () => {
    const held = new Set<TenantId>([c]);
    const queue = queueOf<string>((tenantId) => held.has(tenantId));
    fill(queue, c, 2);
    fill(queue, a, 3);
    fill(queue, b, 1);
    queue.isReady();
    queue.removeWhere((item) => item === 'a1' || item.startsWith('c'));
    queue.release(c);
    held.clear();
    expect(queue.size).toBe(3);
    expect(drain(queue)).toEqual(['a2', 'b1', 'a3']);
    fill(queue, c, 1);
    expect(drain(queue)).toEqual(['c1']);
  });

  it('loses nothing, repeats nothing and keeps the order of each tenant, however tenants are held and released', () => {
    const anyStep = fc.oneof(
      fc.record({ do: fc.constant('push' as const), tenant: fc.constantFrom(a, b, c) }),
      fc.record({ do: fc.constant('hold' as const), tenant: fc.constantFrom(a, b, c) }),
      fc.record({ do: fc.constant('release' as const), tenant: fc.constantFrom(a, b, c) }),
      fc.record({ do: fc.constant('take' as const), tenant: fc.constant(a) }),
    );
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
        const held = new Set<TenantId>();
        const queue = queueOf<readonly [TenantId, number]>((tenantId) => held.has(tenantId));
        const waiting = new Map<TenantId, number[]>([a, b, c].map((tenantId) => [tenantId, []]));
        let pushed = 0;
        const take = () => {
          const ready = [...waiting].some(([tenantId, items]) => items.length > 0 && !held.has(tenantId));
          const item = queue.take();
          expect(item !== undefined).toBe(ready);
          if (item === undefined) return false;
          expect(held.has(item[0])).toBe(false);
          expect(waiting.get(item[0])?.shift()).toBe(item[1]);
          return true;
        };
        for (const step of steps) {
          if (step.do === 'push') {
            queue.push(step.tenant, [step.tenant, ++pushed]);
            waiting.get(step.tenant)?.push(pushed);
          } else if (step.do === 'hold') held.add(step.tenant);
          else if (step.do === 'release') {
            held.delete(step.tenant);
            queue.release(step.tenant);
          } else take();
        }
        for (const tenantId of held) queue.release(tenantId);
        held.clear();
        for (const tenantId of [a, b, c]) queue.release(tenantId);
        while (take());
        expect(queue.size).toBe(0);
      }),
    );
  });
});

function drainSome(queue: FairQueue<string>, count: number): (string | undefined)[] {
  return Array.from({ length: count }, () => queue.take());
}
