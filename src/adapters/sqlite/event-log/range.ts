// A range of one partition, read page by page with a turn of the event loop between them.

import type { LogEntry } from '../../../ports/event-log.ts';
import { turn } from './reader.ts';
import type { Rows } from './rows.ts';

const pageRows = 256;

export async function* readRange(rows: Rows, slot: number, from: number, to: number): AsyncGenerator<LogEntry> {
  const page = rows.page();
  let next = from;
  while (next < to) {
    const found = page(slot, next, to, pageRows);
    for (const row of found) yield rows.entry(slot, row);
    const last = found.at(-1);
    if (last === undefined || found.length < pageRows) return;
    next = last[0] + 1;
    await turn();
  }
}
