// The ranges of time that statistics are asked for.

import type { Resolution } from './resolutions.ts';
import { bucketStart, resolutionMs } from './resolutions.ts';

export interface StatisticsRange {
  /** UTC ms, [from, to) of requestedAt. */
  readonly from: number;
  readonly to: number;
  /** The series has one point for each of these. */
  readonly step: Resolution;
}

export const namedRanges = ['today', '24h', '7d', '30d', 'all'] as const;
export type NamedRange = (typeof namedRanges)[number];

/** The largest time that a JavaScript date can have; a whole day. */
export const timeMaxMs = 8.64e15;

/** `today` is the UTC day; the others end with the minute of now. */
export function statisticsRange(range: NamedRange, now: number): StatisticsRange {
  const { day, minute } = resolutionMs;
  if (range === 'all') return { from: 0, to: timeMaxMs, step: 'day' };
  if (range === 'today') return { from: now - (now % day), to: now - (now % day) + day, step: 'hour' };
  const to = now - (now % minute) + minute;
  if (range === '24h') return { from: to - day, to, step: 'hour' };
  return { from: to - (range === '7d' ? 7 : 30) * day, to, step: 'day' };
}

/** A range of one's own: by the minute up to 3 hours, by the hour up to 3 days, by the day beyond. Absent ends are open. */
export function statisticsBetween(from: number | undefined, to: number | undefined): StatisticsRange {
  const { day, hour } = resolutionMs;
  const span = (to ?? timeMaxMs) - (from ?? 0);
  const step = span <= 3 * hour ? 'minute' : span <= 3 * day ? 'hour' : 'day';
  return { from: from ?? 0, to: to ?? timeMaxMs, step };
}

/** Without `from` and `to`: so many days, up to the minute of now. */
const failuresDays = 7;

/** Absent ends are open: since ever, and up to now. By the hour up to 3 days, by the day beyond. */
export function failuresRange(from: number | undefined, to: number | undefined, now: number): StatisticsRange {
  const { day, minute } = resolutionMs;
  const end = to ?? bucketStart('minute', now) + minute;
  const begin = from ?? (to === undefined ? end - failuresDays * day : 0);
  return { from: begin, to: end, step: end - begin <= 3 * day ? 'hour' : 'day' };
}

/** A series is given by the minute for 12 hours, by the hour for 31 days, by the day for any time. */
export const seriesPointsMax: Readonly<Record<Resolution, number>> = { minute: 720, hour: 744, day: Infinity };

/** To the whole minutes around it. */
export function widened({ from, to, step }: StatisticsRange): StatisticsRange {
  const { minute } = resolutionMs;
  return { from: Math.floor(from / minute) * minute, to: Math.ceil(to / minute) * minute, step };
}

/** [from, to), either of which may be open: the whole minutes in it (null: there are none), and what stands before and behind them. */
export function onMinutes(
  from: number | undefined,
  to: number | undefined,
): {
  readonly whole: { readonly from?: number; readonly to?: number } | null;
  readonly edges: readonly { readonly from: number; readonly to: number }[];
} {
  const { minute } = resolutionMs;
  const first = from === undefined ? undefined : Math.ceil(from / minute) * minute;
  const last = to === undefined ? undefined : Math.floor(to / minute) * minute;
  if ((first ?? 0) >= (last ?? timeMaxMs)) return { whole: null, edges: [] };
  const edges = [];
  if (from !== undefined && first !== undefined && from < first) edges.push({ from, to: first });
  if (to !== undefined && last !== undefined && last < to) edges.push({ from: last, to });
  return {
    whole: { ...(first === undefined ? {} : { from: first }), ...(last === undefined ? {} : { to: last }) },
    edges,
  };
}
