// The statistics of a range, read from as many cells as it has buckets.

import type { Channel, Priority } from '../../domain/events.ts';
import { channels, priorities } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import { statuses } from '../../domain/notification.ts';
import type { FieldValue, Page, ReadModelReader } from '../../ports/read-model-store.ts';
import { rowsPerPageMax } from '../../ports/read-model-store.ts';
import { percentileMs } from './latency-histogram.ts';
import type { Resolution, StatisticsCell } from './statistics-cells.ts';
import { resolutionMs, resolutions } from './statistics-cells.ts';
import type { StatisticsRange } from './statistics-range.ts';
import { timeMaxMs, widened } from './statistics-range.ts';

export interface SeriesPoint {
  /** UTC ms at which its minute, hour or day begins. */
  readonly at: number;
  readonly requested: number;
  readonly delivered: number;
  readonly failed: number;
}

export interface Statistics {
  readonly total: number;
  readonly statusCounts: Readonly<Record<Status, number>>;
  readonly channelCounts: Readonly<Record<Channel, number>>;
  readonly priorityCounts: Readonly<Record<Priority, number>>;
  /** Whole percents of DELIVERED + FAILED; 100 and 0 when there are none. */
  readonly successRate: number;
  readonly failedRate: number;
  /** ms from request to delivery; null when none was delivered. */
  readonly latency: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  readonly series: readonly SeriesPoint[];
}

/** `from` and `to` widen to whole minutes. */
export async function statistics(
  reader: ReadModelReader,
  tenantId: TenantId,
  range: StatisticsRange,
): Promise<Statistics> {
  const { from, to, step } = widened(range);
  const sums = createSums();
  for (const piece of piecesOf(from, to, step)) {
    for await (const cell of cellsOf(reader, tenantId, piece)) sums.add(cell, step);
  }
  return sums.result({ from, to, step });
}

/** How many records there are of a status, channel and priority in [from, to), both on whole minutes or absent. */
export async function countRecords(
  reader: ReadModelReader,
  tenantId: TenantId,
  of: { status?: Status; channel?: Channel; priority?: Priority; from?: number; to?: number },
): Promise<number> {
  let count = 0;
  for (const piece of piecesOf(of.from ?? 0, of.to ?? timeMaxMs, 'day')) {
    for await (const cell of cellsOf(reader, tenantId, piece)) {
      for (const [channel, priority, status, n] of countsOf(cell)) {
        if (matches(of.channel, channel) && matches(of.priority, priority) && matches(of.status, status)) count += n;
      }
    }
  }
  return count;
}

/** A part of a range that whole cells of one resolution cover. */
export interface RangePiece {
  readonly resolution: Resolution;
  readonly from: number;
  readonly to: number;
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

/** A series of more buckets than this names only those with notifications. */
const filledSeriesMax = 1000;

async function* cellsOf(
  reader: ReadModelReader,
  tenantId: TenantId,
  piece: RangePiece,
): AsyncGenerator<StatisticsCell, void> {
  let after: readonly FieldValue[] | null = null;
  do {
    const page: Page<StatisticsCell> = await reader.find<StatisticsCell>({
      collection: 'statistics',
      equals: { tenantId, resolution: piece.resolution },
      range: { field: 'at', from: piece.from, to: piece.to },
      order: { fields: ['at'], direction: 'ascending' },
      limit: rowsPerPageMax,
      ...(after === null ? {} : { after }),
    });
    yield* page.documents;
    after = page.next;
  } while (after !== null);
}

function countsOf(cell: StatisticsCell): [Channel, Priority, Status, number][] {
  return Object.entries(cell.counts).map(([key, count]) => {
    const [channel, priority, status] = key.split('.');
    return [channel as Channel, priority as Priority, status as Status, count];
  });
}

function matches<T>(wanted: T | undefined, value: T): boolean {
  return wanted === undefined || wanted === value;
}

function createSums() {
  const statusCounts = zeroes(statuses);
  const channelCounts = zeroes(channels);
  const priorityCounts = zeroes(priorities);
  const latency = new Map<number, number>();
  const points = new Map<number, { at: number; requested: number; delivered: number; failed: number }>();
  return {
    add(cell: StatisticsCell, step: Resolution): void {
      const at = cell.at - (cell.at % resolutionMs[step]);
      const point = points.get(at) ?? { at, requested: 0, delivered: 0, failed: 0 };
      points.set(at, point);
      for (const [channel, priority, status, count] of countsOf(cell)) {
        statusCounts[status] += count;
        channelCounts[channel] += count;
        priorityCounts[priority] += count;
        point.requested += count;
        if (status === 'DELIVERED') point.delivered += count;
        if (status === 'FAILED') point.failed += count;
      }
      for (const [bucket, count] of Object.entries(cell.latency)) {
        latency.set(Number(bucket), (latency.get(Number(bucket)) ?? 0) + count);
      }
    },
    result(range: StatisticsRange): Statistics {
      const ended = statusCounts.DELIVERED + statusCounts.FAILED;
      const successRate = ended === 0 ? 100 : Math.round((100 * statusCounts.DELIVERED) / ended);
      return {
        total: Object.values(statusCounts).reduce((sum, count) => sum + count, 0),
        statusCounts,
        channelCounts,
        priorityCounts,
        successRate,
        failedRate: 100 - successRate,
        latency: {
          p50: percentileMs(latency, 0.5),
          p95: percentileMs(latency, 0.95),
          p99: percentileMs(latency, 0.99),
        },
        series: filled(points, range),
      };
    },
  };
}

/** Points without notifications too, from the range's start to its end, where these aren't too many. */
function filled(points: ReadonlyMap<number, SeriesPoint>, { from, to, step }: StatisticsRange): SeriesPoint[] {
  const size = resolutionMs[step];
  const first = from - (from % size);
  if ((to - first) / size > filledSeriesMax) return [...points.values()].sort((a, b) => a.at - b.at);
  const series: SeriesPoint[] = [];
  for (let at = first; at < to; at += size) {
    series.push(points.get(at) ?? { at, requested: 0, delivered: 0, failed: 0 });
  }
  return series;
}

function zeroes<K extends string>(keys: readonly K[]): Record<K, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
}
