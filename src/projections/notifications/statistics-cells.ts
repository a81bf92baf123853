// The cells of the statistics: the GROUP BY of the records, kept by taking a record's share from one cell and adding it to another.

import type { TenantId } from '../../domain/ids.ts';
import { deliveredAtOf } from '../../domain/notification.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import type { NotificationDocument } from './document.ts';
import type { LatencyHistogram } from './latency-histogram.ts';
import { bucketOf } from './latency-histogram.ts';

/** Coarsest first. */
export const resolutions = ['day', 'hour', 'minute'] as const;
export type Resolution = (typeof resolutions)[number];

export const resolutionMs: Readonly<Record<Resolution, number>> = { day: 86_400_000, hour: 3_600_000, minute: 60_000 };

/** Notifications of one tenant and partition number, requested in the bucket of time that begins `at`. Without a single one the cell is absent. */
export interface StatisticsCell {
  readonly tenantId: TenantId;
  readonly resolution: Resolution;
  readonly at: number;
  readonly partition: number;
  /** How many, by `CHANNEL.PRIORITY.STATUS`; the keys ascend, none is 0. */
  readonly counts: Readonly<Record<string, number>>;
  /** Request to delivery of the DELIVERED ones. */
  readonly latency: LatencyHistogram;
}

export const statisticsCollection: CollectionDefinition = {
  name: 'statistics',
  fields: { tenantId: 'text', resolution: 'text', at: 'number' },
  indexes: [{ fields: ['tenantId', 'resolution', 'at'] }],
};

export interface StatisticsChanges {
  /** One record's document before and after. */
  move(before: NotificationDocument | null, after: NotificationDocument): void;
  /** The cells as they are to be written. */
  writes(reader: Pick<ReadModelReader, 'get'>): Promise<Write[]>;
}

export function createStatisticsChanges(): StatisticsChanges {
  const minutes = new Map<string, CellDelta>();
  const add = (share: Share, by: 1 | -1): void => {
    const at = share.requestedAt - (share.requestedAt % resolutionMs.minute);
    const delta = deltaOf(minutes, share.tenantId, 'minute', at, share.partition);
    increase(delta.counts, share.key, by);
    if (share.bucket !== null) increase(delta.latency, share.bucket, by);
  };
  return {
    move(before, after) {
      const from = before === null ? null : shareOf(before);
      const to = shareOf(after);
      if (from !== null && to !== null && sameShare(from, to)) return;
      if (from !== null) add(from, -1);
      if (to !== null) add(to, 1);
    },
    async writes(reader) {
      const deltas = withCoarser(minutes);
      if (deltas.size === 0) return [];
      const stored = await reader.get<StatisticsCell>(statisticsCollection.name, [...deltas.keys()]);
      return [...deltas].map(([id, delta]) => ({
        collection: statisticsCollection.name,
        id,
        document: applied(stored.get(id), delta),
        isNew: !stored.has(id),
      }));
    },
  };
}

/** What one record is counted as; null when it isn't listed yet. */
interface Share {
  readonly tenantId: TenantId;
  readonly partition: number;
  readonly requestedAt: number;
  readonly key: string;
  readonly bucket: number | null;
}

interface CellDelta {
  readonly tenantId: TenantId;
  readonly resolution: Resolution;
  readonly at: number;
  readonly partition: number;
  readonly counts: Map<string, number>;
  readonly latency: Map<number, number>;
}

function shareOf(document: NotificationDocument): Share | null {
  const { listedAt, tenantId, partition, channel, priority, status } = document;
  if (listedAt === null) return null;
  const deliveredAt = status === 'DELIVERED' ? deliveredAtOf(document) : null;
  const bucket = deliveredAt === null ? null : bucketOf(deliveredAt - listedAt);
  return { tenantId, partition, requestedAt: listedAt, key: `${channel}.${priority}.${status}`, bucket };
}

function sameShare(a: Share, b: Share): boolean {
  return a.key === b.key && a.bucket === b.bucket && a.requestedAt === b.requestedAt && a.partition === b.partition;
}

function deltaOf(
  deltas: Map<string, CellDelta>,
  tenantId: TenantId,
  resolution: Resolution,
  at: number,
  partition: number,
): CellDelta {
  const id = `${tenantId}:${resolution}:${at}:${partition}`;
  let delta = deltas.get(id);
  if (delta === undefined) {
    delta = { tenantId, resolution, at, partition, counts: new Map(), latency: new Map() };
    deltas.set(id, delta);
  }
  return delta;
}

/** The minutes' changes summed up into hours and days; what cancelled itself out is left away. */
function withCoarser(minutes: ReadonlyMap<string, CellDelta>): Map<string, CellDelta> {
  const all = new Map<string, CellDelta>();
  for (const minute of minutes.values()) {
    if (minute.counts.size === 0 && minute.latency.size === 0) continue;
    for (const resolution of resolutions) {
      const at = minute.at - (minute.at % resolutionMs[resolution]);
      const delta = deltaOf(all, minute.tenantId, resolution, at, minute.partition);
      for (const [key, by] of minute.counts) increase(delta.counts, key, by);
      for (const [bucket, by] of minute.latency) increase(delta.latency, bucket, by);
    }
  }
  return all;
}

function increase<K>(counts: Map<K, number>, key: K, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** null when nothing is left in the cell. */
function applied(stored: StatisticsCell | undefined, delta: CellDelta): StatisticsCell | null {
  const { tenantId, resolution, at, partition } = delta;
  const counts = summed(stored?.counts, delta.counts);
  if (Object.keys(counts).length === 0) return null;
  return { tenantId, resolution, at, partition, counts, latency: summed(stored?.latency, delta.latency) };
}

/** Keys in one canonical order, whatever came first: text keys are sorted, and numbers an object orders by itself. */
function summed(
  stored: Readonly<Record<string, number>> | undefined,
  changes: ReadonlyMap<string | number, number>,
): Record<string, number> {
  const sums: Record<string, number> = { ...stored };
  let isNew = false;
  for (const [key, by] of changes) {
    const before = sums[key];
    const sum = (before ?? 0) + by;
    if (sum === 0) delete sums[key];
    else sums[key] = sum;
    isNew ||= before === undefined;
  }
  return isNew ? Object.fromEntries(Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1))) : sums;
}
