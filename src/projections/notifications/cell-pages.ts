// Reads the cells of a range of time, page by page: whole ones, or only what a series needs of them.

import type { TenantId } from '../../domain/ids.ts';
import type { CollectionDefinition, FieldValue, Page, Query, ReadModelReader } from '../../ports/read-model-store.ts';
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
  reader: CellReader,
  tenantId: TenantId,
  pieces: readonly StoredPiece[],
): AsyncIterable<readonly StatisticsCell[]> {
  return cellsOf<StatisticsCell>(reader, statisticsCollection, tenantId, pieces);
}

/** Of a cell the counts are a tenth: its latencies stay where they are. */
export function countsInCells(
  reader: CellReader,
  tenantId: TenantId,
  pieces: readonly StoredPiece[],
): AsyncIterable<readonly Pick<StatisticsCell, 'at' | 'counts'>[]> {
  return cellsOf<StatisticsCell>(reader, statisticsCollection, tenantId, pieces, ['at', 'counts']);
}

export function failuresInCells(
  reader: CellReader,
  tenantId: TenantId,
  pieces: readonly StoredPiece[],
): AsyncIterable<readonly Pick<StatisticsCell, 'at' | 'failures'>[]> {
  return cellsOf<StatisticsCell>(reader, statisticsCollection, tenantId, pieces, ['at', 'failures']);
}

export type CellReader = Pick<ReadModelReader, 'find' | 'findRanges'>;

interface Cell {
  readonly resolution: StoredResolution;
  readonly at: number;
}

/**
 * In no order. By pages: a step of an iteration that is asynchronous costs as much as a cell. Mostly it is one, of all pieces: on MongoDB each question is a
 * way there and back and 0.3 ms of this process' time.
 * @param fields what is read of each, if not all
 */
export async function* cellsOf<C extends Cell>(
  reader: CellReader,
  { name: collection }: CollectionDefinition,
  tenantId: TenantId,
  pieces: readonly StoredPiece[],
  fields?: readonly (keyof C & string)[],
): AsyncGenerator<readonly C[], void> {
  const ranges = pieces.map(({ resolution, from, to }) => ({
    equals: { tenantId, resolution },
    range: { field: 'at', from, to },
  }));
  const only = { collection, ...(fields === undefined ? {} : { fields }) };
  const all = ranges.length === 1 ? null : await reader.findRanges<C>({ ...only, ranges });
  if (all !== null) {
    yield all;
    return;
  }
  const order = { fields: ['at'], direction: 'ascending' } as const;
  for (const range of ranges) {
    let after: readonly FieldValue[] | null = null;
    do {
      const place: Pick<Query, 'after'> = after === null ? {} : { after };
      const page: Page<C> = await reader.find<C>({ ...only, ...range, ...place, order, limit: rowsPerPageMax });
      yield page.documents;
      after = page.next;
    } while (after !== null);
  }
}
