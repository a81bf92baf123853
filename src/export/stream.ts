// An export without a folder: rows as lines to whoever reads them, as fast as they are read. It leaves nothing behind to go on from.

import { ndjson, csv } from './formats/text.ts';
import type { Clock } from '../ports/clock.ts';
import type { Asked } from './export.ts';
import type { ExportedLog } from './plan.ts';
import { knownUpTo, rangesOf } from './plan.ts';
import { beginning, usualPieceRows } from './source.ts';
import { sourceOf, tables } from './tables/index.ts';

export interface StreamOptions extends Asked {
  readonly log: ExportedLog;
  readonly clock: Pick<Clock, 'now'>;
  readonly format: 'ndjson' | 'csv';
  /** A folder for what a fold has to lay aside. */
  readonly scratch: string;
  /** Resolves when more may be written. */
  write(text: string): Promise<void>;
  onProgress(read: number, total: number): void;
}

/** The rows that were written. */
export async function exportToStream(options: StreamOptions): Promise<number> {
  const { log, clock, table, format } = options;
  const since = options.since?.manifest ?? null;
  const asOf = knownUpTo(clock, { ...options, since });
  const ranges = await rangesOf(log, { ...options, since });
  const { head, line } = (format === 'csv' ? csv : ndjson)(tables[table].columns);
  const source = sourceOf({ ...options, ranges, asOf, pieceRows: usualPieceRows });
  let rows = 0;
  let read = 0;
  if (head !== '') await options.write(head);
  for await (const piece of source.pieces(beginning)) {
    if (piece.rows.length > 0) await options.write(piece.rows.map(line).join(''));
    rows += piece.rows.length;
    read += piece.read;
    options.onProgress(read, source.total);
  }
  return rows;
}
