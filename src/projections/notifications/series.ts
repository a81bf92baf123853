// A series over a range of time, with the points in which there is nothing.

import { bucketStart, resolutionMs } from './resolutions.ts';
import type { StatisticsRange } from './statistics-range.ts';

/** A series of more buckets than this names only those in which there is something. */
const filledSeriesMax = 1000;

/** From the range's start to its end. */
export function filledSeries<P extends { readonly at: number }>(
  points: ReadonlyMap<number, P>,
  { from, to, step }: StatisticsRange,
  empty: (at: number) => P,
): P[] {
  const size = resolutionMs[step];
  const first = bucketStart(step, from);
  if ((to - first) / size > filledSeriesMax) return [...points.values()].sort((a, b) => a.at - b.at);
  const series: P[] = [];
  for (let at = first; at < to; at += size) series.push(points.get(at) ?? empty(at));
  return series;
}
