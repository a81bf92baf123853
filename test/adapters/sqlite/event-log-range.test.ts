// How many rows a range reads ahead of whoever may stop at any of them.

import { describe, expect, it } from '@jest/globals';

import { readRange } from '../../../src/adapters/sqlite/event-log/range.ts';
import type { Row, Rows } from '../../../src/adapters/sqlite/event-log/rows.ts';
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
