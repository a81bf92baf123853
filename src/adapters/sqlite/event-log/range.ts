// A range of one partition, read page by page with a turn of the event loop between them.

import type { LogEntry } from '../../../ports/event-log.ts';
import { turn } from './reader.ts';
import type { Rows } from './rows.ts';

const pageRows = 256;
/** Read and decoded in a ms or two. */
const turnBytes = 256 * 1024;

export async function* readRange(rows: Rows, slot: number, from: number, to: number): AsyncGenerator<LogEntry> {
  const page = rows.page();
  let next = from;
  let bytes = 0;
  while (next < to) {
    const found = page(slot, next, to, pageRows);
    for (const row of found) {
      const entry = rows.entry(slot, row);
      yield entry;
      bytes += entry.size;
      if (bytes >= turnBytes) {
        bytes = 0;
        await turn();
      }
    }
    const last = found.at(-1);
    if (last === undefined || found.length < pageRows) return;
    next = last[0] + 1;
    await turn();
  }
}
