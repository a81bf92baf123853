// A range of one partition, read page by page with turns of the event loop in between.

import type { EventHead, LogEntry } from '../../../ports/event-log.ts';
import { turn } from './reader.ts';
import type { Rows } from './rows.ts';
import { pagedBytesMax } from './rows.ts';

export interface SlotRange {
  readonly slot: number;
  readonly from: number;
  readonly to: number;
  /** Held by a page, at most; absent: 256 rows. */
  readonly aheadBytes?: number | undefined;
  /** Of what this says it of nothing is told. */
  isPassedOver(head: EventHead | null): boolean;
}

const pageRowsMax = 256;
/**
 * Of a range's first page; each next one is twice as long. A dispatcher that comes back for what tenants left in the log takes some 11 events of 32 that it
 * looks at and stops: with 256 rows at once it read nearly nine for each webhook of a flood, with 32 two.
 */
const pageRowsFirst = 32;
/** What is read and what its taker does with it, before others of the thread have their turn; looked at every so many rows. */
const turnMs = 2;
const rowsPerLook = 16;
/** Of those that no page holds, each a look into the file: others have their turn after so many bytes. */
const turnBytes = 256 * 1024;

export async function* readRange(
  rows: Rows,
  { slot, from, to, aheadBytes, isPassedOver }: SlotRange,
): AsyncGenerator<LogEntry> {
  const page = rows.page();
  const rowsMax = Math.min(pageRowsMax, Math.max(1, Math.floor((aheadBytes ?? Infinity) / pagedBytesMax)));
  let pageRows = Math.min(pageRowsFirst, rowsMax);
  let next = from;
  let readRows = 0;
  let readBytes = 0;
  let turnedAt = performance.now();
  while (next < to) {
    const found = page(slot, next, to, pageRows);
    for (const row of found) {
      const entry = rows.entry(slot, row);
      if (!isPassedOver(entry.head)) yield entry;
      if (entry.size > pagedBytesMax) readBytes += entry.size;
      const isLong = ++readRows % rowsPerLook === 0 && performance.now() - turnedAt >= turnMs;
      if (!isLong && readBytes < turnBytes) continue;
      readBytes = 0;
      await turn();
      turnedAt = performance.now();
    }
    const last = found.at(-1);
    if (last === undefined || found.length < pageRows) return;
    next = last[0] + 1;
    pageRows = Math.min(2 * pageRows, rowsMax);
  }
}
