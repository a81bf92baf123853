// Where a table's rows come from, piece by piece, in an order that is the same every time.

import type { Row } from './columns.ts';
import type { Filter } from './filter.ts';
import { filterOf } from './filter.ts';
import type { Range } from './manifest.ts';
import type { ExportedLog } from './plan.ts';
import { eventRow } from './tables/events.ts';

/** Where reading goes on: which of the source's units, and how far into it. */
export interface Place {
  readonly unit: number;
  readonly at: number;
}

export const beginning: Place = { unit: 0, at: 0 };

export interface Piece {
  readonly rows: readonly Row[];
  /** Events that were read for it. */
  readonly read: number;
  /** Where to go on behind it; null: only from an earlier piece's. */
  readonly next: Place | null;
}

export interface Source {
  /** Events that `pieces` reads from its beginning to its end. */
  readonly total: number;
  /** Counts the events of each range, as far as the pieces that were handed out go. */
  pieces(from: Place): AsyncIterable<Piece>;
  /** Of the events of the ranges whose pieces were all handed out, how many the log has no more. */
  deleted(): number;
}

export interface SourceOptions {
  readonly log: ExportedLog;
  readonly ranges: readonly Range[];
  readonly filter: Filter;
  /** Handed out at a time, at most. */
  readonly pieceRows: number;
}

/** Handed out at a time: enough for what a piece costs by itself to be nothing. */
export const usualPieceRows = 500;
/** And so much is read for it at most. */
const pieceEvents = 5_000;
/** Of its rows' texts: 500 of the largest requests are 100 MiB. */
const pieceChars = 4 * 1024 * 1024;

/** One range after another: units are ranges, and how far one is its offset. */
export function eventsSource({ log, ranges, filter, pieceRows }: SourceOptions): Source {
  const isWanted = filterOf(filter);
  let deleted = 0;

  async function* piecesOf(range: Range, unit: number, from: number): AsyncGenerator<Piece> {
    const { topic, partition, to } = range;
    let rows: Row[] = [];
    let chars = 0;
    let read = 0;
    deleted += to - from;
    for await (const entry of log.read({ topic, partition, from, to })) {
      read++;
      if (isWanted(entry)) {
        const row = eventRow(entry);
        rows.push(row);
        chars += charsOf(row);
      }
      if (rows.length < pieceRows && chars < pieceChars && read < pieceEvents) continue;
      range.events += read;
      deleted -= read;
      yield { rows, read, next: { unit, at: entry.offset + 1 } };
      rows = [];
      chars = 0;
      read = 0;
    }
    range.events += read;
    deleted -= read;
    yield { rows, read, next: { unit: unit + 1, at: 0 } };
  }

  return {
    total: ranges.reduce((sum, { from, to }) => sum + to - from, 0),
    deleted: () => deleted,
    async *pieces({ unit, at }) {
      for (const [i, range] of ranges.entries()) {
        if (i < unit || range.from === range.to) continue;
        yield* piecesOf(range, i, i === unit ? Math.max(at, range.from) : range.from);
      }
    },
  };
}

function charsOf(row: Row): number {
  let chars = 0;
  for (const cell of row) if (typeof cell === 'string') chars += cell.length;
  return chars;
}
