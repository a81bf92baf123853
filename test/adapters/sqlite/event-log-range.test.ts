// How many rows a range reads ahead of whoever may stop at any of them.

import { describe, expect, it } from '@jest/globals';

import { readRange } from '../../../src/adapters/sqlite/event-log/range.ts';
import type { Row, Rows } from '../../../src/adapters/sqlite/event-log/rows.ts';
import { createSurveys } from '../../../src/adapters/sqlite/event-log/survey.ts';
import type { TenantId } from '../../../src/domain/ids.ts';
import type { LogEntry } from '../../../src/ports/event-log.ts';

const end = 1000;

describe('a range of the log', () => {
  it('reads few rows for whoever stops soon, and twice as many with each page for whoever reads on', async () => {
    const { rows, read } = countingRows();
    expect(await offsetsOf(rows, { until: 10 })).toHaveLength(10);
    expect(read()).toEqual([32]);
    expect(await offsetsOf(rows, { until: end })).toEqual(Array.from({ length: end }, (_, n) => n));
    expect(read()).toEqual([32, 64, 128, 256, 256, 256, 8]);
  });

  it('reads no more at once than it may hold', async () => {
    const { rows, read } = countingRows();
    expect(await offsetsOf(rows, { until: 50, aheadBytes: 20 * 2048 })).toHaveLength(50);
    expect(read()).toEqual([20, 20, 20]);
  });
});

describe('a survey of the log', () => {
  it('reads large rows to tell whose they are, and gives way after every other one', async () => {
    const size = 190 * 1024;
    let inTurn = 0;
    let inTurnMax = 0;
    let turnsLeft = 1_000;
    const nextTurn = () => {
      inTurn = 0;
      if (turnsLeft-- > 0) setImmediate(nextTurn);
    };
    const rows = {
      counts: () => () => [[null, 100, 100 * size, 99]],
      pageOfTenants: () => (_slot: number, _range: unknown, tenants: string | null) =>
        tenants === null ? Array.from({ length: 100 }, (_, n) => [n, 0, 0, 0, null, null]) : [],
      entry(_slot: number, [offset]: Row) {
        inTurnMax = Math.max(inTurnMax, ++inTurn);
        return { offset, size, head: { tenantId: offset % 10 === 0 ? 'tnt_few' : 'tnt_many' } };
      },
    } as unknown as Rows;
    setImmediate(nextTurn);
    const survey = createSurveys(rows);
    for await (const page of survey({ slot: 0, from: 0, to: 100, isPassedOver: () => false })) {
      expect(page.shares).toEqual([
        { tenantId: 'tnt_few', events: 10, bytes: 10 * size, last: 90 },
        { tenantId: 'tnt_many', events: 90, bytes: 90 * size, last: 99 },
      ]);
      const readInTurn = inTurnMax;
      const few = [...page.entriesOf(new Set(['tnt_few' as TenantId]))].map(({ offset }) => offset);
      expect(few).toEqual(Array.from({ length: 10 }, (_, n) => 10 * n));
      expect(readInTurn).toBeLessThanOrEqual(2);
    }
    turnsLeft = 0;
  });
});

/** Of a slot with `end` small events. */
function countingRows(): { readonly rows: Rows; read(): readonly number[] } {
  let pages: number[] = [];
  const page = (_slot: number, from: number, to: number, limit: number): readonly Row[] => {
    const length = Math.max(0, Math.min(limit, to - from));
    pages.push(length);
    return Array.from({ length }, (_, n) => [from + n, 0, 0, 0, null, null] as const);
  };
  const rows = {
    page: () => page,
    entry: (_slot: number, [offset]: Row) => ({ offset, size: 600, head: null }) as LogEntry,
  };
  return {
    rows: rows as unknown as Rows,
    read() {
      const before = pages;
      pages = [];
      return before;
    },
  };
}

async function offsetsOf(
  rows: Rows,
  { until, aheadBytes }: { readonly until: number; readonly aheadBytes?: number },
): Promise<readonly number[]> {
  const offsets: number[] = [];
  for await (const { offset } of readRange(rows, {
    slot: 0,
    from: 0,
    to: end,
    aheadBytes,
    isPassedOver: () => false,
  })) {
    if (offsets.push(offset) === until) break;
  }
  return offsets;
}
