// Figures of several runs: each row is the median of its runs, and judged by it.

import { expect, it } from '@jest/globals';

import { createTimeline, latency, throughput } from '../../bench/over-time.ts';
import { createResults, isMet } from '../../bench/results.ts';

it('a row that is added once a run is the median of the runs, with the target of the last', () => {
  const results = createResults(() => {});
  for (const value of [10, 2, 3]) results.add('p99', value, 'ms', { kind: 'at most', value: 5 });
  const [row] = results.rows();
  expect(row).toMatchObject({ value: 3, values: [10, 2, 3] });
  expect(row !== undefined && isMet(row)).toBe(true);
  expect(results.table('heading')).toMatch(/p99 +3\.00 ms +at most 5\.00 ms +ok/);
});

it('what happened over time is that of the last run', () => {
  const results = createResults(() => {});
  const series = { plot: 'a', line: 'b', unit: '/s', points: [] };
  results.addSeries(series);
  const again = { ...series, points: [{ atSeconds: 1, value: 2 }] };
  results.addSeries(again);
  expect(results.series()).toEqual([again]);
});

it('a timeline counts by half seconds, and leaves the first and the last, which are seldom whole, out of a rate', () => {
  const timeline = createTimeline();
  timeline.add(1499, 3);
  for (let ms = 1500; ms < 2000; ms += 50) timeline.add(ms, ms === 1950 ? 9 : 1);
  timeline.add(2000, null);
  const moments = timeline.moments();
  expect(throughput('plot', 'line', moments).points).toEqual([{ atSeconds: 0, value: 20 }]);
  expect(latency('plot', 'line', moments, 'p99').points).toEqual([
    { atSeconds: 0, value: 3 },
    { atSeconds: 0.5, value: 9 },
  ]);
});
