// The page of --html: everything that was measured is on it, nothing of it is taken for markup, and it asks no host for anything.

import { expect, it } from '@jest/globals';

import { escaped } from '../../bench/html/escape.ts';
import { page } from '../../bench/html/page.ts';
import { axis, plot } from '../../bench/html/plot.ts';

const hostile = `<script src="https://evil.example/x.js">&'"`;
const row = {
  what: hostile,
  value: 4.5,
  values: [4, 4.5, 5],
  unit: hostile,
  target: { kind: 'at most', value: 4 },
} as const;
const series = {
  plot: hostile,
  line: hostile,
  unit: '/s',
  points: [
    { atSeconds: 0, value: 0 },
    { atSeconds: 10, value: 200 },
  ],
};

it('text is never markup', () => {
  expect(escaped(`<a b="c" d='e'>&amp;`)).toBe('&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;');
});

it('shows rows with each run, what was aimed at and whether it was met, what it ran on and the plots, and asks for nothing', () => {
  const made = page({ heading: hostile, machine: { cores: hostile }, rows: [row], series: [series] });
  expect(made).not.toContain('<script');
  expect(made.replaceAll(escaped(hostile), '')).not.toMatch(/https?:|\bsrc=|\bhref=|@import|url\(/);
  expect(made).toContain('4.00, 4.50, 5.00');
  expect(made).toContain('>MISSED<');
  expect(made).toContain('<polyline');
  expect(made).toContain('prefers-color-scheme: dark');
});

it.each([
  [0, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [7, [0, 2, 4, 6, 8]],
  [200, [0, 50, 100, 150, 200]],
  [11_059, [0, 2000, 4000, 6000, 8000, 10_000, 12_000]],
])('an axis up to %d has round steps and ends no lower', (largest, steps) => {
  const { end, steps: made } = axis(largest);
  expect(made.map((step) => Number(step.toFixed(6)))).toEqual(steps);
  expect(end).toBeGreaterThanOrEqual(largest);
});

it('a plot draws each point between its axes', () => {
  const points = /points="([^"]+)"/.exec(plot([series]))?.[1];
  expect(points).toBe('64.0,228.0 708.0,12.0');
});

it('a series without a point is an empty line, not a fault', () => {
  expect(plot([{ ...series, points: [] }])).not.toContain('NaN');
});
