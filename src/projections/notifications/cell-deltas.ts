// What a batch of events changes in the cells of the statistics: collected by the minute, then summed up into hours and days.

import type { TenantId } from '../../domain/ids.ts';
import type { Resolution } from './resolutions.ts';
import { bucketStart, resolutions } from './resolutions.ts';

/** Changes of counts by key; what cancels itself out is left away. */
export type Deltas<K extends string | number> = Map<K, number>;

/** What became of the keys of an object, so that what must be looked at after it is looked at alone: of a histogram of a hundred keys the first one costs 10 us. */
export interface Changed {
  /** A key came: they aren't in order any more. */
  readonly hasMore: boolean;
  /** A key went: it may have been the last one. */
  readonly hasLess: boolean;
}

/** Plain data: cells are made for each batch, and what is done with them is compiled once. */
export interface CellDelta {
  readonly tenantId: TenantId;
  readonly resolution: Resolution;
  readonly at: number;
  readonly partition: number;
  readonly counts: Deltas<string>;
  readonly failures: Deltas<string>;
  /** By group. */
  readonly latency: Map<string, Deltas<number>>;
}

interface Place {
  readonly tenantId: TenantId;
  readonly partition: number;
}

/** By the cells' ids. */
export type CellDeltas = Map<string, CellDelta>;

/** Of the minute into which the time falls. */
export function minuteOf(minutes: CellDeltas, place: Place, timeMs: number): CellDelta {
  return deltaIn(minutes, place, 'minute', timeMs);
}

/** Of all resolutions; those that stay as they are are left away. */
export function coarserToo(minutes: CellDeltas): CellDeltas {
  const all: CellDeltas = new Map();
  for (const minute of minutes.values()) {
    if (isEmpty(minute)) continue;
    for (const resolution of resolutions) addCell(deltaIn(all, minute, resolution, minute.at), minute);
  }
  return all;
}

function deltaIn(
  deltas: CellDeltas,
  { tenantId, partition }: Place,
  resolution: Resolution,
  timeMs: number,
): CellDelta {
  const at = bucketStart(resolution, timeMs);
  const id = `${tenantId}:${resolution}:${at}:${partition}`;
  const known = deltas.get(id);
  if (known !== undefined) return known;
  const delta = { tenantId, resolution, at, partition, counts: new Map(), failures: new Map(), latency: new Map() };
  deltas.set(id, delta);
  return delta;
}

function isEmpty({ counts, failures, latency }: CellDelta): boolean {
  if (counts.size > 0 || failures.size > 0) return false;
  for (const buckets of latency.values()) if (buckets.size > 0) return false;
  return true;
}

function addCell({ counts, failures, latency }: CellDelta, other: CellDelta): void {
  for (const [key, by] of other.counts) addCount(counts, key, by);
  for (const [key, by] of other.failures) addCount(failures, key, by);
  for (const [group, buckets] of other.latency) {
    const into = latencyOf(latency, group);
    for (const [bucket, by] of buckets) addCount(into, bucket, by);
  }
}

export function latencyOf(latency: CellDelta['latency'], group: string): Deltas<number> {
  const known = latency.get(group);
  if (known !== undefined) return known;
  const deltas: Deltas<number> = new Map();
  latency.set(group, deltas);
  return deltas;
}

export function addCount<K extends string | number>(deltas: Deltas<K>, key: K, by: number): void {
  const sum = (deltas.get(key) ?? 0) + by;
  if (sum === 0) deltas.delete(key);
  else deltas.set(key, sum);
}

/** To these very counts; none is 0. */
export function addTo(counts: Record<string, number>, deltas: Deltas<string | number>): Changed {
  let hasMore = false;
  let hasLess = false;
  for (const [of, by] of deltas) {
    const key = String(of);
    const before = counts[key];
    const sum = (before ?? 0) + by;
    if (sum === 0) delete counts[key];
    else counts[key] = sum;
    hasLess ||= sum === 0;
    hasMore ||= before === undefined;
  }
  return { hasMore, hasLess };
}

/** The histograms in it that change are replaced. Answers whether a group came to it, so that they aren't in order any more. */
export function addLatencyTo(stored: Record<string, Record<string, number>>, latency: CellDelta['latency']): boolean {
  let isNew = false;
  for (const [group, buckets] of latency) {
    // What came and went within the batch.
    if (buckets.size === 0) continue;
    const histogram = { ...stored[group] };
    isNew ||= stored[group] === undefined;
    // Numbers an object orders by itself.
    const { hasLess } = addTo(histogram, buckets);
    if (hasLess && isWithoutKeys(histogram)) delete stored[group];
    else stored[group] = histogram;
  }
  return isNew;
}

/** Text keys in one canonical order, whatever came first. */
export function sorted<T>(of: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function isWithoutKeys(of: object): boolean {
  for (const _ in of) return false;
  return true;
}
