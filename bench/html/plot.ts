// A plot of values over time as an SVG drawing: one line a series, both axes from 0 in round steps.

import type { Series } from '../results.ts';
import { formatted } from '../results.ts';
import { escaped } from './escape.ts';

const width = 720;
const height = 260;
const left = 64;
const right = 12;
const top = 12;
const bottom = 32;
const stepsMax = 6;
/** Colours of lines in page.ts. */
const colours = 6;

/** Series of one plot share its unit. */
export function plot(series: readonly Series[]): string {
  const unit = series[0]?.unit ?? '';
  const points = series.flatMap((one) => one.points);
  const x = axis(Math.max(0, ...points.map(({ atSeconds }) => atSeconds)));
  const y = axis(Math.max(0, ...points.map(({ value }) => value)));
  const xAt = (seconds: number) => left + (seconds / x.end) * (width - left - right);
  const yAt = (value: number) => height - bottom - (value / y.end) * (height - top - bottom);
  const lines = series.map((one, nth) => {
    const path = one.points.map(({ atSeconds, value }) => `${xAt(atSeconds).toFixed(1)},${yAt(value).toFixed(1)}`);
    return `<polyline class="line c${nth % colours}" points="${path.join(' ')}"><title>${escaped(one.line)}</title></polyline>`;
  });
  const vertical = x.steps.map(
    (seconds) =>
      `<text class="tick" x="${xAt(seconds).toFixed(1)}" y="${height - bottom + 16}" text-anchor="middle">${formattedStep(seconds)}${seconds === 0 ? ' s' : ''}</text>`,
  );
  const horizontal = y.steps.map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${yAt(value).toFixed(1)}" y2="${yAt(value).toFixed(1)}"/>` +
      `<text class="tick" x="${left - 6}" y="${(yAt(value) + 4).toFixed(1)}" text-anchor="end">${formattedStep(value)}</text>`,
  );
  const legend = series.map((one, nth) => `<span class="key c${nth % colours}">${escaped(one.line)}</span>`);
  const label = `${escaped(series[0]?.plot ?? '')}${unit === '' ? '' : `, ${escaped(unit)}`}`;
  return `<figure><figcaption>${label}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${[...horizontal, ...vertical, ...lines].join('\n')}</svg>
<p class="legend">${legend.join(' ')}</p></figure>`;
}

/** From 0 to a round number that is no less than the largest value, in steps of 1, 2 or 5 times a power of ten. */
export function axis(largest: number): { readonly end: number; readonly steps: readonly number[] } {
  const atLeast = (largest > 0 ? largest : 1) / stepsMax;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const step = ([1, 2, 5].find((factor) => factor * power >= atLeast) ?? 10) * power;
  const count = Math.ceil((largest > 0 ? largest : 1) / step - 1e-9);
  return { end: count * step, steps: Array.from({ length: count + 1 }, (_, nth) => nth * step) };
}

function formattedStep(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en-US') : formatted(value);
}
