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

/** Held bytes of all that is kept. */
export interface RecentLimits {
  readonly smallBytesMax: number;
  /** Of those that no page holds: a few, so that they push out none of the many. */
  readonly largeBytesMax: number;
}

export function recentRows(rows: Rows, slots: number, { smallBytesMax, largeBytesMax }: RecentLimits): RecentRows {
  const small = createKept(smallBytesMax);
  const large = createKept(largeBytesMax);

  const keyOf = (slot: number, offset: number) => offset * slots + slot;
  const keep = (slot: number, entry: LogEntry) => {
    if (entry.head === null) return;
    (entry.size > pagedBytesMax ? large : small).keep(keyOf(slot, entry.offset), entry);
  };

  /** All of a page, or null: a page that ends early says that nothing more is wanted. Large ones are in no page. */
  const known = (slot: number, page: Asked, types?: ReadonlySet<EventType>): readonly LogEntry[] | null => {
    const entries: LogEntry[] = [];
    for (let offset = page.from; offset < page.to && entries.length < page.limit; offset++) {
      const entry = small.get(keyOf(slot, offset));
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
      const key = keyOf(slot, row[0]);
      const known = row[6] ?? small.get(key) ?? large.get(key);
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

type Generation = Map<number, LogEntry>;

/** Two generations: the older one goes when the younger is full. */
function createKept(heldBytesMax: number) {
  let younger: Generation = new Map();
  let older: Generation = new Map();
  let bytes = 0;
  return {
    get: (key: number) => younger.get(key) ?? older.get(key),
    keep(key: number, entry: LogEntry): void {
      bytes += heldBytes(entry.size);
      if (bytes > heldBytesMax / 2) {
        older = younger;
        younger = new Map();
        bytes = heldBytes(entry.size);
      }
      younger.set(key, entry);
    },
  };
}
