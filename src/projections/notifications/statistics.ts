// The statistics of a range, read from as many cells as it has buckets.

import type { Channel, Priority } from '../../domain/events.ts';
import { channels, priorities } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import { statuses } from '../../domain/notification.ts';
import type { ReadModelReader } from '../../ports/read-model-store.ts';
import type { StoredPiece } from './cell-pages.ts';
import { countsInCells, piecesOf, wholeCells, withKept } from './cell-pages.ts';
import { percentileMs } from './latency-histogram.ts';
import type { Resolution } from './resolutions.ts';
import { bucketStart } from './resolutions.ts';
import { filledSeries } from './series.ts';
import type { DeliveredShare, StatisticsCell } from './statistics-cells.ts';
import { countsIn, deliveredShareOfKey, readOnce, shareOfKey } from './statistics-cells.ts';
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

/** What is counted: all that are given hold. */
export interface CountedOnly {
  readonly channel?: Channel;
  readonly priority?: Priority;
  /** Of the last attempt that has ended. */
  readonly provider?: string;
}

/** `from` and `to` widen to whole minutes. */
export async function statistics(
  reader: ReadModelReader,
  tenantId: TenantId,
  range: StatisticsRange,
  only: CountedOnly = {},
): Promise<Statistics> {
  const { from, to, step } = widened(range);
  const sums = createSums(only);
  // Latencies are most of a cell: by the coarsest ones, whatever the series' step. Pieces that both have (minutes at the ends) are read once.
  const whole = withKept(piecesOf(from, to, 'day'), { from, to });
  const counted = withKept(piecesOf(from, to, step), { from, to });
  const inBoth = whole.filter((piece) => counted.some((other) => isSame(other, piece)));
  const rest = counted.filter((piece) => !inBoth.some((other) => isSame(other, piece)));
  const addWhole = async (): Promise<void> => {
    for await (const cells of wholeCells(reader, tenantId, whole))
      for (const cell of cells) {
        sums.addLatencies(cell);
        if (inBoth.some((piece) => isWithin(piece, cell))) sums.addCounts(cell, step);
      }
  };
  const addCounted = async (): Promise<void> => {
    for await (const cells of countsInCells(reader, tenantId, rest))
      for (const cell of cells) sums.addCounts(cell, step);
  };
  await Promise.all([addWhole(), addCounted()]);
  return sums.result({ from, to, step });
}

/** How many records there are of a status, channel, priority and provider in [from, to), both on whole minutes or absent. */
export async function countRecords(
  reader: ReadModelReader,
  tenantId: TenantId,
  of: CountedOnly & { status?: Status; from?: number; to?: number },
): Promise<number> {
  const isCounted = readOnce((key) => {
    const share = shareOfKey(key);
    return isOf(of, share) && (of.status === undefined || of.status === share.status);
  });
  let total = 0;
  for await (const cells of countsInCells(reader, tenantId, piecesOf(of.from ?? 0, of.to ?? timeMaxMs, 'day')))
    for (const { counts } of cells) for (const [key, count] of countsIn(counts)) if (isCounted(key)) total += count;
  return total;
}

function isSame(one: StoredPiece, other: StoredPiece): boolean {
  return one.resolution === other.resolution && one.from === other.from && one.to === other.to;
}

function isWithin({ resolution, from, to }: StoredPiece, cell: StatisticsCell): boolean {
  return resolution === cell.resolution && from <= cell.at && cell.at < to;
}

function isOf(only: CountedOnly, share: DeliveredShare): boolean {
  return (['channel', 'priority', 'provider'] as const).every(
    (field) => only[field] === undefined || only[field] === share[field],
  );
}

function createSums(only: CountedOnly) {
  const counted = readOnce((key) => {
    const share = shareOfKey(key);
    return isOf(only, share) ? share : null;
  });
  const isDelivered = readOnce((key) => isOf(only, deliveredShareOfKey(key)));
  const statusCounts = zeroes(statuses);
  const channelCounts = zeroes(channels);
  const priorityCounts = zeroes(priorities);
  const latency = new Map<number, number>();
  const points = new Map<number, { at: number; requested: number; delivered: number; failed: number }>();
  return {
    addCounts(cell: Pick<StatisticsCell, 'at' | 'counts'>, step: Resolution): void {
      const at = bucketStart(step, cell.at);
      const point = points.get(at) ?? { at, requested: 0, delivered: 0, failed: 0 };
      points.set(at, point);
      for (const [key, count] of countsIn(cell.counts)) {
        const share = counted(key);
        if (share === null) continue;
        const { channel, priority, status } = share;
        statusCounts[status] += count;
        channelCounts[channel] += count;
        priorityCounts[priority] += count;
        point.requested += count;
        if (status === 'DELIVERED') point.delivered += count;
        if (status === 'FAILED') point.failed += count;
      }
    },
    addLatencies(cell: Pick<StatisticsCell, 'latency'>): void {
      for (const [key, histogram] of Object.entries(cell.latency)) {
        if (!isDelivered(key)) continue;
        for (const [bucket, count] of Object.entries(histogram))
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
        series: filledSeries(points, range, (at) => ({ at, requested: 0, delivered: 0, failed: 0 })),
      };
    },
  };
}

function zeroes<K extends string>(keys: readonly K[]): Record<K, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
}
