// The cells of the statistics: the GROUP BY of the records, kept by taking a record's shares from its cells and adding others.
//
// One cell is of a tenant, a partition number and a bucket of time. It counts what was requested in it, and what came to be FAILED in it: a failure is
// mostly within moments of its request, so that both have one row to write.

import type { Channel, Priority } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import { deliveredAtOf } from '../../domain/notification.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import type { CellDelta, CellDeltas, Deltas } from './cell-deltas.ts';
import {
  addCount,
  addLatencyTo,
  addTo,
  coarserToo,
  isWithoutKeys,
  latencyOf,
  minuteOf,
  sorted,
} from './cell-deltas.ts';
import type { NotificationDocument } from './document.ts';
import type { LatencyHistogram } from './latency-histogram.ts';
import { bucketOf } from './latency-histogram.ts';
import type { StoredResolution } from './resolutions.ts';

/** Of one tenant, partition number and the bucket of time that begins `at`. Without a single count the cell is absent. */
export interface StatisticsCell {
  readonly tenantId: TenantId;
  readonly resolution: StoredResolution;
  readonly at: number;
  readonly partition: number;
  /** Of those requested in it: how many, by `CHANNEL.PRIORITY.STATUS.PROVIDER`. JSON text of an object whose keys ascend, none is 0. */
  readonly counts: string;
  /** Of those that FAILED in it, whenever they were requested: how many, by cause. As `counts`; null when there are none. */
  readonly failures: string | null;
  /** Request to delivery of the DELIVERED ones of `counts`, by `CHANNEL.PRIORITY.PROVIDER`. */
  readonly latency: Readonly<Record<string, LatencyHistogram>>;
}

/** A series reads the counts alone, which stand beside the document. */
export const statisticsCollection: CollectionDefinition = {
  name: 'statistics_2',
  fields: { tenantId: 'text', resolution: 'text', at: 'number', counts: 'text', failures: 'text' },
  indexes: [{ fields: ['tenantId', 'resolution', 'at'] }],
};

export interface CountedShare {
  readonly channel: Channel;
  readonly priority: Priority;
  readonly status: Status;
  /** Of the last attempt that has ended; empty as long as there is none. */
  readonly provider: string;
}

export function shareOfKey(key: string): CountedShare {
  const [channel, priority, status, provider = ''] = key.split('.');
  return { channel: channel as Channel, priority: priority as Priority, status: status as Status, provider };
}

export type DeliveredShare = Omit<CountedShare, 'status'>;

export function deliveredShareOfKey(key: string): DeliveredShare {
  const [channel, priority, provider = ''] = key.split('.');
  return { channel: channel as Channel, priority: priority as Priority, provider };
}

/** Of `counts` or `failures`, by key. */
export function countsIn(text: string | null): [string, number][] {
  return text === null ? [] : Object.entries(JSON.parse(text) as Record<string, number>);
}

/** Keys recur from cell to cell: each is read once. */
export function readOnce<T>(read: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const value = read(key);
    known.set(key, value);
    return value;
  };
}

/** One record's document before and after; null: there is none. */
export function moveStatistics(
  minutes: CellDeltas,
  before: NotificationDocument | null,
  after: NotificationDocument | null,
): void {
  if (before !== null) count(minutes, before, -1);
  if (after !== null) count(minutes, after, 1);
}

function count(minutes: CellDeltas, document: NotificationDocument, by: 1 | -1): void {
  const { listedAt, failedAt, cause, channel, priority, status } = document;
  if (listedAt === null) return;
  const provider = document.provider ?? '';
  const { counts, latency } = minuteOf(minutes, document, listedAt);
  addCount(counts, `${channel}.${priority}.${status}.${provider}`, by);
  const deliveredAt = status === 'DELIVERED' ? deliveredAtOf(document) : null;
  if (deliveredAt !== null)
    addCount(latencyOf(latency, `${channel}.${priority}.${provider}`), bucketOf(deliveredAt - listedAt), by);
  if (failedAt !== null && cause !== null) addCount(minuteOf(minutes, document, failedAt).failures, cause, by);
}

/** The cells as they are to be written. */
export async function statisticsWrites(minutes: CellDeltas, reader: Pick<ReadModelReader, 'get'>): Promise<Write[]> {
  const deltas = coarserToo(minutes);
  if (deltas.size === 0) return [];
  const collection = statisticsCollection.name;
  const stored = await reader.get<StatisticsCell>(collection, [...deltas.keys()]);
  const writes: Write[] = [];
  for (const [id, delta] of deltas) {
    const before = stored.get(id);
    writes.push({ collection, id, document: applied(before, delta), isNew: before === undefined });
  }
  return writes;
}

/** null when nothing is left in the cell. */
function applied(stored: StatisticsCell | undefined, delta: CellDelta): StatisticsCell | null {
  const { tenantId, resolution, at, partition } = delta;
  const counts = textAfter(stored?.counts ?? null, delta.counts);
  const failures = textAfter(stored?.failures ?? null, delta.failures);
  if (counts === null && failures === null) return null;
  const latency: Record<string, Record<string, number>> = { ...stored?.latency };
  const isNew = addLatencyTo(latency, delta.latency);
  const place = { tenantId, resolution, at, partition };
  return { ...place, counts: counts ?? '{}', failures, latency: isNew ? sorted(latency) : latency };
}

/** null: none is left. */
function textAfter(text: string | null, deltas: Deltas<string>): string | null {
  if (deltas.size === 0) return text === '{}' ? null : text;
  const counts = text === null ? {} : (JSON.parse(text) as Record<string, number>);
  const { hasMore, hasLess } = addTo(counts, deltas);
  if (hasLess && isWithoutKeys(counts)) return null;
  return JSON.stringify(hasMore ? sorted(counts) : counts);
}
