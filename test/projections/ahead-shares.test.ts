// Who stays behind on a number that is late, and who is folded before his turn.

import { describe, expect, it } from '@jest/globals';

import type { TenantId } from '../../src/domain/ids.ts';
import type { FoldedAhead } from '../../src/ports/folded-ahead.ts';
import { createAheadShares } from '../../src/projections/ahead-shares.ts';
import fc from '../support/properties.ts';

const id = (n: number): TenantId => `tnt_${n}` as TenantId;
const topic = 'work';

/** Notes events one behind another. */
function sharesOf(ahead: FoldedAhead | null = null) {
  const shares = createAheadShares(ahead);
  let offset = 0;
  return {
    get behind() {
      return shares.behind;
    },
    get isOver() {
      return shares.isOver;
    },
    passed: shares.passed,
    judge: shares.judge,
    note: (tenantId: TenantId, bytes = 600) => shares.note({ tenantId, topic, events: 1, bytes, last: offset++ }),
  };
}

describe('the shares of a number that is late', () => {
  it('leave one tenant behind that fills it, and nobody else', () => {
    const shares = sharesOf();
    for (let n = 0; n < 5_000; n++) shares.note(n % 20 === 0 ? id(1 + (n % 7)) : id(0));
    expect([...shares.behind]).toEqual([id(0)]);
  });

  it.each([2, 3, 4, 7, 20, 40])('let nobody go ahead where %i tenants have as much', (tenants) => {
    const shares = sharesOf();
    for (let n = 0; n < 5_000; n++) shares.note(id(n % tenants));
    shares.judge();
    expect(shares.behind.size).toBe(tenants);
  });

  it('let one go ahead who has little beside many that have as much', () => {
    const shares = sharesOf();
    for (let n = 0; n < 5_000; n++) shares.note(id(n % 100 === 0 ? 0 : 1 + (n % 20)));
    shares.judge();
    expect(shares.behind.size).toBe(20);
    expect(shares.behind.has(id(0))).toBe(false);
  });

  it("don't hold against anybody what had its turn", () => {
    const shares = sharesOf();
    for (let n = 0; n < 1_000; n++) shares.note(id(n % 100 === 0 ? 1 : 0));
    shares.passed(new Map([[topic, 1_000]]));
    expect(shares.behind.size).toBe(0);
    for (let n = 0; n < 20; n++) shares.note(id(n % 2));
    shares.judge();
    expect(shares.behind.size).toBe(0);
  });

  it('judge nobody by a few events', () => {
    const shares = sharesOf();
    for (let n = 0; n < 60; n++) shares.note(id(0));
    expect(shares.behind.size).toBe(0);
  });

  it('count bytes: one large event is as much as a hundred small ones', () => {
    const shares = sharesOf();
    shares.note(id(0), 195 * 1024);
    for (let n = 0; n < 10; n++) shares.note(id(1));
    expect([...shares.behind]).toEqual([id(0)]);
  });

  it('keep behind whoever was there before', () => {
    const shares = sharesOf({ offsets: new Map([[topic, 0]]), behind: new Set([id(3)]) });
    for (let n = 0; n < 1_000; n++) shares.note(id(n % 100 === 0 ? 1 : 3));
    expect([...shares.behind]).toEqual([id(3)]);
  });

  it('leave nobody behind any more whose turn has come', () => {
    const shares = sharesOf();
    for (let n = 0; n < 200; n++) shares.note(id(0));
    for (let n = 0; n < 100; n++) shares.note(id(1));
    expect([...shares.behind]).toEqual([id(0), id(1)]);
    shares.passed(new Map([[topic, 199]]));
    expect([...shares.behind]).toEqual([id(0), id(1)]);
    shares.passed(new Map([[topic, 200]]));
    expect([...shares.behind]).toEqual([id(1)]);
    shares.note(id(1));
    shares.passed(new Map([[topic, 300]]));
    expect([...shares.behind]).toEqual([id(1)]);
    shares.passed(new Map([[topic, 301]]));
    expect(shares.behind.size).toBe(0);
  });

  it('judge by what came lately: who begins to fill it stays behind soon', () => {
    const shares = sharesOf();
    for (let n = 0; n < 100_000; n++) shares.note(id(0));
    for (let n = 0; n < 10_000; n++) shares.note(id(n % 2));
    expect([...shares.behind]).toEqual([id(0), id(1)]);
  });

  it('are over where too many fill it', () => {
    const shares = sharesOf();
    for (let n = 0; n < 20_000 && !shares.isOver; n++) shares.note(id(n % 200));
    expect(shares.isOver).toBe(true);
  });

  it('let a quarter go ahead at most, whoever is about', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(12), { minLength: 64, maxLength: 800 }), (tenants) => {
        const shares = sharesOf();
        for (const tenant of tenants) shares.note(id(tenant));
        shares.judge();
        const countOf = (id: number) => tenants.filter((tenant) => tenant === id).length;
        const ahead = [...new Set(tenants)].filter((tenant) => !shares.behind.has(id(tenant)));
        const behind = [...new Set(tenants)].filter((tenant) => shares.behind.has(id(tenant)));
        expect(ahead.reduce((sum, tenant) => sum + countOf(tenant), 0)).toBeLessThanOrEqual(tenants.length / 4);
        // Somebody has twice as much, whoever goes ahead.
        for (const tenant of ahead)
          expect(Math.max(...behind.map(countOf))).toBeGreaterThanOrEqual(2 * countOf(tenant));
      }),
    );
  });
});
