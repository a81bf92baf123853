// How a load went on: what was answered or arrived in each half second, and how long it took.

import { percentiles } from './protocol.ts';
import type { Moment } from './protocol.ts';
import type { Point, Series } from './results.ts';

const momentMs = 500;

export interface Timeline {
  /** @param latencyMs null: isn't known */
  add(atMs: number, latencyMs: number | null): void;
  moments(): Moment[];
}

export function createTimeline(): Timeline {
  const moments = new Map<number, { count: number; latencies: number[] }>();
  return {
    add(atMs, latencyMs) {
      const nth = Math.floor(atMs / momentMs);
      const moment = moments.get(nth) ?? { count: 0, latencies: [] };
      moments.set(nth, moment);
      moment.count += 1;
      if (latencyMs !== null) moment.latencies.push(latencyMs);
    },
    moments: () =>
      [...moments].map(([nth, { count, latencies }]) => ({
        atMs: nth * momentMs,
        perSecond: (count * 1000) / momentMs,
        latencyMs: latencies.length === 0 ? null : percentiles(latencies.slice()),
      })),
  };
}

/** The first and the last moment are seldom whole. */
export function throughput(plot: string, line: string, moments: readonly Moment[]): Series {
  return { plot, line, unit: '/s', points: pointsOf(moments.slice(1, -1), ({ perSecond }) => perSecond) };
}

export function latency(plot: string, line: string, moments: readonly Moment[], share: 'p50' | 'p99'): Series {
  return { plot, line: `${line}, ${share}`, unit: 'ms', points: pointsOf(moments, (at) => at.latencyMs?.[share]) };
}

function pointsOf(moments: readonly Moment[], valueOf: (moment: Moment) => number | undefined): Point[] {
  const from = moments[0]?.atMs ?? 0;
  return moments.flatMap((moment) => {
    const value = valueOf(moment);
    return value === undefined ? [] : [{ atSeconds: (moment.atMs - from) / 1000, value }];
  });
}
