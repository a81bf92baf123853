// Breakers up to a bound, by example, and beside a model that looks through all of them.

import { describe, expect, it } from '@jest/globals';

import { createKeptBreakers } from '../../src/dispatchers/kept-breakers.ts';
import { closedBreaker } from '../../src/domain/breaker.ts';
import type { Breaker } from '../../src/domain/breaker.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import fc from '../support/properties.ts';

const open: Breaker = { kind: 'open', until: 0, isAsked: false, openings: 1, probeSince: null };

interface Kept {
  readonly key: string;
  readonly tenantId: TenantId;
  readonly breaker: Breaker;
}

const one = (key: string, breaker: Breaker): Kept => ({ key, tenantId: key.slice(0, 1) as TenantId, breaker });

/** The keys that are kept of so many at most, as they were touched. */
function keptOf(max: number, ...touched: readonly (readonly [string, Breaker])[]): string[] {
  const kept = createKeptBreakers<Kept>(max);
  for (const [key, breaker] of touched) kept.set(key, one(key, breaker));
  return [...kept.values()].map(({ key }) => key);
}

describe('past their bound of breakers are given up', () => {
  it('those of the tenant that has most of them, whoever was there first and whoever comes', () => {
    const flood = [1, 2, 3].map((i) => [`a${i}`, open] as const);
    expect(keptOf(4, ['b1', open], ...flood, ['a4', open])).toEqual(['b1', 'a2', 'a3', 'a4']);
    expect(keptOf(4, ['b1', open], ...flood, ['c1', open])).toEqual(['b1', 'a2', 'a3', 'c1']);
  });

  it('its closed ones before those that are open, and of either the one that was touched first', () => {
    expect(keptOf(3, ['a1', open], ['a2', closedBreaker], ['a3', open], ['a4', open])).toEqual(['a1', 'a3', 'a4']);
    expect(keptOf(3, ['a1', open], ['a2', open], ['a3', open], ['a1', open], ['a4', open])).toEqual(['a3', 'a1', 'a4']);
  });

  it('whatever comes: the same ones as by a look through all', () => {
    const max = 8;
    const anyStep = fc.record({
      tenant: fc.constantFrom('a', 'b', 'c', 'd'),
      number: fc.nat({ max: 9 }),
      become: fc.constantFrom<Breaker | null>(closedBreaker, open, null),
    });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 100 }), (steps) => {
        const kept = createKeptBreakers<Kept>(max);
        let model: Kept[] = [];
        for (const { tenant, number, become } of steps) {
          const key = `${tenant}${number}`;
          model = model.filter((known) => known.key !== key);
          if (become === null) kept.delete(key);
          else {
            const before = model;
            kept.set(key, one(key, become));
            model = [...model, one(key, become)];
            if (model.length > max) model = model.filter((known) => kept.get(known.key) !== undefined);
            const [gone] = before.filter((known) => !model.includes(known));
            if (gone !== undefined) expect(mayGo(before)).toContain(gone);
          }
          expect([...kept.values()]).toEqual(model);
          expect(model.length).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});

/** Of each of the tenants that have the most the one that is given up. */
function mayGo(kept: readonly Kept[]): readonly Kept[] {
  const owns = Object.values(Object.groupBy(kept, ({ tenantId }) => tenantId)).map((own = []) => own);
  const most = Math.max(...owns.map(({ length }) => length));
  return owns
    .filter(({ length }) => length === most)
    .flatMap((own) =>
      own
        .filter(({ breaker }) => breaker.kind === 'closed')
        .concat(own)
        .slice(0, 1),
    );
}
