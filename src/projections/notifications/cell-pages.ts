// Reads the cells of a range of time, page by page: whole ones, or only what a series needs of them.

import type { TenantId } from '../../domain/ids.ts';
import type { FieldValue, Page, ReadModelReader } from '../../ports/read-model-store.ts';
import { rowsPerPageMax } from '../../ports/read-model-store.ts';
import type { Resolution, StoredResolution } from './resolutions.ts';
import { resolutionMs, resolutions } from './resolutions.ts';
import type { StatisticsCell } from './statistics-cells.ts';
import { statisticsCollection } from './statistics-cells.ts';

/** A part of a range that whole cells of one resolution cover. */
export interface RangePiece {
  readonly resolution: Resolution;
  readonly from: number;
  readonly to: number;
}

/** The same, or the kept days that begin in it. */
export interface StoredPiece extends Omit<RangePiece, 'resolution'> {
  readonly resolution: StoredResolution;
}

/** [from, to) of whole minutes as the fewest cells no coarser than `coarsest`: minutes, hours, days, hours, minutes. */
export function piecesOf(from: number, to: number, coarsest: Resolution): RangePiece[] {
  if (from >= to) return [];
  const size = resolutionMs[coarsest];
  const finer = resolutions[resolutions.indexOf(coarsest) + 1];
  if (finer === undefined) return [{ resolution: coarsest, from, to }];
  const first = Math.ceil(from / size) * size;
  const last = Math.floor(to / size) * size;
  if (first >= last) return piecesOf(from, to, finer);
  return [
    ...piecesOf(from, first, finer),
    { resolution: coarsest, from: first, to: last },
    ...piecesOf(last, to, finer),
  ];
}

/** And the days that begin in the range, of notifications that are forgotten: they are counted by the day alone. */
export function withKept(
  pieces: readonly RangePiece[],
  range: { readonly from: number; readonly to: number },
): StoredPiece[] {
  return range.from >= range.to ? [...pieces] : [...pieces, { resolution: 'kept', from: range.from, to: range.to }];
}

export function wholeCells(
  reader: ReadModelReader,
  tenantId: TenantId,
  piece: StoredPiece,
): AsyncIterable<readonly StatisticsCell[]> {
  return cells(reader, tenantId, piece);
}

/** Of a cell the counts are a tenth: its latencies stay where they are. */
export function countsInCells(
  reader: ReadModelReader,
  tenantId: TenantId,
  piece: StoredPiece,
): AsyncIterable<readonly Pick<StatisticsCell, 'at' | 'counts'>[]> {
  return cells(reader, tenantId, piece, ['at', 'counts']);
}

export function failuresInCells(
  reader: ReadModelReader,
  tenantId: TenantId,
  piece: StoredPiece,
): AsyncIterable<readonly Pick<StatisticsCell, 'at' | 'failures'>[]> {
  return cells(reader, tenantId, piece, ['at', 'failures']);
}

/** By pages: a step of an iteration that is asynchronous costs as much as a cell. @param fields what is read of each, if not all */
async function* cells(
  reader: ReadModelReader,
  tenantId: TenantId,
  piece: StoredPiece,
  fields?: readonly (keyof StatisticsCell)[],
): AsyncGenerator<readonly StatisticsCell[], void> {
  let after: readonly FieldValue[] | null = null;
  do {
    const page: Page<StatisticsCell> = await reader.find<StatisticsCell>({
      collection: statisticsCollection.name,
      equals: { tenantId, resolution: piece.resolution },
      range: { field: 'at', from: piece.from, to: piece.to },
      order: { fields: ['at'], direction: 'ascending' },
      limit: rowsPerPageMax,
      ...(fields === undefined ? {} : { fields }),
      ...(after === null ? {} : { after }),
    });
    yield page.documents;
    after = page.next;
  } while (after !== null);
}
