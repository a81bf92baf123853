// The log's newest events as a thread has written, read or decoded them: whichever of its readers comes to one next takes it as it is, without another look into
// the file and another decoding.

import type { EventType } from '../../../domain/events.ts';
import { heldBytes } from '../../../domain/held-bytes.ts';
import type { LogEntry } from '../../../ports/event-log.ts';
import { pagedBytesMax, type Row, type Rows } from './rows.ts';

export interface RecentRows extends Rows {
  /** An event that is durable as it stands. */
  keep(slot: number, entry: LogEntry): void;
}

type Generation = Map<number, LogEntry>;

/** @param heldBytesMax of all that is kept, in two generations: the older one goes when the younger is full */
export function recentRows(rows: Rows, slots: number, heldBytesMax: number): RecentRows {
  let younger: Generation = new Map();
  let older: Generation = new Map();
  let bytes = 0;

  const keyOf = (slot: number, offset: number) => offset * slots + slot;
  const at = (slot: number, offset: number) => {
    const key = keyOf(slot, offset);
    return younger.get(key) ?? older.get(key);
  };

  const keep = (slot: number, entry: LogEntry) => {
    if (entry.head === null || entry.size > pagedBytesMax) return;
    bytes += heldBytes(entry.size);
    if (bytes > heldBytesMax / 2) {
      older = younger;
      younger = new Map();
      bytes = heldBytes(entry.size);
    }
    younger.set(keyOf(slot, entry.offset), entry);
  };

  /** All of a page, or null: a page that ends early says that nothing more is wanted. */
  const known = (slot: number, page: Asked, types?: ReadonlySet<EventType>): readonly LogEntry[] | null => {
    const entries: LogEntry[] = [];
    for (let offset = page.from; offset < page.to && entries.length < page.limit; offset++) {
      const entry = at(slot, offset);
      if (entry === undefined || entry.head === null) return null;
      if (types === undefined || types.has(entry.head.type)) entries.push(entry);
    }
    return entries;
  };

  return {
    ...rows,
    keep,
    page(types) {
      const stored = rows.page(types);
      return (slot, from, to, limit) =>
        known(slot, { from, to, limit }, types)?.map(rowOf) ?? stored(slot, from, to, limit);
    },
    entry(slot, row) {
      const known = row[6] ?? at(slot, row[0]);
      if (known !== undefined) return known;
      const entry = rows.entry(slot, row);
      keep(slot, entry);
      return entry;
    },
  };
}

interface Asked {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

function rowOf(entry: LogEntry): Row {
  return [entry.offset, entry.appendedAt, 0, 0, null, null, entry];
}
