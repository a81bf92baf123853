// Who stays behind on a number that is late, and who is folded before his turn.

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { TenantId } from '../../src/domain/ids.ts';
import type { FoldedAhead } from '../../src/ports/folded-ahead.ts';
import { createAheadShares } from '../../src/projections/ahead-shares.ts';

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
    note: (tenantId: TenantId, bytes = 600) => shares.note({ tenantId, topic, offset: offset++, bytes }),
  };
}

describe('the shares of a number that is late', () => {
  it('leave one tenant behind that fills it, and nobody else', () => {
    const shares = sharesOf();
    for (let n = 0; n < 5_000; n++) shares.note(n % 20 === 0 ? id(1 + (n % 7)) : id(0));
    expect([...shares.behind]).toEqual([id(0)]);
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
        const ahead = tenants.filter((tenant) => !shares.behind.has(id(tenant))).length;
        expect(ahead).toBeLessThanOrEqual(tenants.length / 4);
      }),
    );
  });
});
