// What a batch of events changes in the cells of the statistics: collected by the minute, then summed up into hours and days.

import type { TenantId } from '../../domain/ids.ts';
import type { Resolution } from './resolutions.ts';
import { bucketStart, resolutions } from './resolutions.ts';

/** Changes of counts by key; what cancels itself out is left away. */
export interface Deltas<K extends string | number> {
  add(key: K, by: number): void;
  addAll(others: Deltas<K>): void;
  readonly all: ReadonlyMap<K, number>;
  /** To these very counts; none is 0. */
  addTo(counts: Record<string, number>): Changed;
}

/** What became of the keys of an object, so that what must be looked at after it is looked at alone: of a histogram of a hundred keys the first one costs 10 us. */
export interface Changed {
  /** A key came: they aren't in order any more. */
  readonly hasMore: boolean;
  /** A key went: it may have been the last one. */
  readonly hasLess: boolean;
}

export interface CellDelta {
  readonly tenantId: TenantId;
  readonly resolution: Resolution;
  readonly at: number;
  readonly partition: number;
  readonly counts: Deltas<string>;
  readonly failures: Deltas<string>;
  latencyOf(group: string): Deltas<number>;
  addAll(other: CellDelta): void;
  readonly latency: ReadonlyMap<string, Deltas<number>>;
  /** The histograms in it that change are replaced. Answers whether a group came to it, so that they aren't in order any more. */
  addLatencyTo(stored: Record<string, Record<string, number>>): boolean;
}

interface Place {
  readonly tenantId: TenantId;
  readonly partition: number;
}

export interface CellDeltas {
  /** Of the minute into which the time falls. */
  of(place: Place, timeMs: number): CellDelta;
  readonly all: ReadonlyMap<string, CellDelta>;
}

export function createCellDeltas(): CellDeltas {
  const all = new Map<string, CellDelta>();
  return { all, of: (place, timeMs) => deltaIn(all, place, 'minute', timeMs) };
}

/** By the ids of the cells, of all resolutions; those that stay as they are are left away. */
export function coarserToo(minutes: CellDeltas): ReadonlyMap<string, CellDelta> {
  const all = new Map<string, CellDelta>();
  for (const minute of minutes.all.values()) {
    if (isEmpty(minute)) continue;
    for (const resolution of resolutions) deltaIn(all, minute, resolution, minute.at).addAll(minute);
  }
  return all;
}

function deltaIn(
  deltas: Map<string, CellDelta>,
  { tenantId, partition }: Place,
  resolution: Resolution,
  timeMs: number,
): CellDelta {
  const at = bucketStart(resolution, timeMs);
  const id = `${tenantId}:${resolution}:${at}:${partition}`;
  const delta = deltas.get(id) ?? createCellDelta({ tenantId, resolution, at, partition });
  deltas.set(id, delta);
  return delta;
}

function isEmpty({ counts, failures, latency }: CellDelta): boolean {
  return counts.all.size === 0 && failures.all.size === 0 && [...latency.values()].every(({ all }) => all.size === 0);
}

function createCellDelta(of: Pick<CellDelta, 'tenantId' | 'resolution' | 'at' | 'partition'>): CellDelta {
  const counts = createDeltas<string>();
  const failures = createDeltas<string>();
  const latency = new Map<string, Deltas<number>>();
  const latencyOf = (group: string): Deltas<number> => {
    const deltas = latency.get(group) ?? createDeltas<number>();
    latency.set(group, deltas);
    return deltas;
  };
  return {
    ...of,
    counts,
    failures,
    latency,
    latencyOf,
    addAll(other) {
      counts.addAll(other.counts);
      failures.addAll(other.failures);
      for (const [group, buckets] of other.latency) latencyOf(group).addAll(buckets);
    },
    addLatencyTo(stored) {
      let isNew = false;
      for (const [group, buckets] of latency) {
        // What came and went within the batch.
        if (buckets.all.size === 0) continue;
        const histogram = { ...stored[group] };
        isNew ||= stored[group] === undefined;
        // Numbers an object orders by itself.
        const { hasLess } = buckets.addTo(histogram);
        if (hasLess && isWithoutKeys(histogram)) delete stored[group];
        else stored[group] = histogram;
      }
      return isNew;
    },
  };
}

function createDeltas<K extends string | number>(): Deltas<K> {
  const all = new Map<K, number>();
  const add = (key: K, by: number): void => {
    const sum = (all.get(key) ?? 0) + by;
    if (sum === 0) all.delete(key);
    else all.set(key, sum);
  };
  return {
    all,
    add,
    addAll(others) {
      for (const [key, by] of others.all) add(key, by);
    },
    addTo(counts) {
      let hasMore = false;
      let hasLess = false;
      for (const [of, by] of all) {
        const key = String(of);
        const before = counts[key];
        const sum = (before ?? 0) + by;
        if (sum === 0) delete counts[key];
        else counts[key] = sum;
        hasLess ||= sum === 0;
        hasMore ||= before === undefined;
      }
      return { hasMore, hasLess };
    },
  };
}

/** Text keys in one canonical order, whatever came first. */
export function sorted<T>(of: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function isWithoutKeys(of: object): boolean {
  for (const _ in of) return false;
  return true;
}
