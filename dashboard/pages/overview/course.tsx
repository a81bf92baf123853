// Requested, delivered and failed over time: drawn, to be narrowed by dragging, and as a table for whoever reads rather than looks.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

import { count, localTime, shortCount } from '../../format.ts';
import { theme, themeChanges } from '../../theme.ts';
import { Time } from '../../ui/marks.tsx';
import type { Statistics } from '../../wire.ts';
import type { Range } from './range.ts';
import { linkToNow, showBetween } from './range.ts';

const lines = [
  { name: 'Requested', field: 'requested', colour: '--accent' },
  { name: 'Delivered', field: 'delivered', colour: '--good' },
  { name: 'Failed', field: 'failed', colour: '--bad' },
] as const;
const plotHeight = 240;
/** Of the table: the newest. */
const rowsMax = 200;

type Point = Statistics['series'][number];

export function Course({ statistics, range }: { readonly statistics: Statistics | null; readonly range: Range }) {
  const series = statistics?.series ?? [];
  return (
    <section class="card" aria-labelledby="course">
      <div class="head">
        <h2 id="course">Over time</h2>
        <ul class="legend">
          {lines.map(({ name, field }) => (
            <li key={name} class={field}>
              {name}
            </li>
          ))}
        </ul>
      </div>
      <Plot series={series} />
      <div class="head">
        <p class="note">Drag across the plot to look at a part of it. Counted by the time of the request.</p>
        {range.kind === 'between' && <a href={linkToNow()}>Back to 24 hours</a>}
      </div>
      <details>
        <summary>As a table</summary>
        <div class="scroll series-table" tabIndex={0} role="region" aria-label="Over time, as a table">
          <table>
            <thead>
              <tr>
                <th scope="col">From</th>
                {lines.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {series
                .slice(-rowsMax)
                .toReversed()
                .map((point) => (
                  <tr key={point.at}>
                    <td>
                      <Time at={point.at} />
                    </td>
                    {lines.map(({ field }) => (
                      <td key={field} class="number">
                        {count(point[field])}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

function Plot({ series }: { readonly series: readonly Point[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // Either one changes the colours.
  const colours = `${theme.value} ${themeChanges.value}`;
  useEffect(() => {
    const { current: at } = box;
    if (at === null) return undefined;
    const drawn = new uPlot(options(at), [[], [], [], []], at);
    plot.current = drawn;
    drawn.setData(dataOf(series));
    const watch = new ResizeObserver(() => drawn.setSize({ width: at.clientWidth, height: plotHeight }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [colours]);
  useEffect(() => plot.current?.setData(dataOf(series)), [series]);
  const { total, failed } = series.reduce(
    (sum, point) => ({ total: sum.total + point.requested, failed: sum.failed + point.failed }),
    { total: 0, failed: 0 },
  );
  return (
    <div
      class="plot"
      ref={box}
      role="img"
      aria-label={`Plot of ${count(series.length)} points: ${count(total)} requested, ${count(failed)} failed. The table below has the numbers.`}
    />
  );
}

function dataOf(series: readonly Point[]): uPlot.AlignedData {
  return [
    series.map(({ at }) => Date.parse(at) / 1000),
    ...lines.map(({ field }) => series.map((point) => point[field])),
  ] as uPlot.AlignedData;
}

function options(at: HTMLElement): uPlot.Options {
  const styles = getComputedStyle(at);
  const colour = (name: string) => styles.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--soft'),
    font: `12px ${styles.fontFamily}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  return {
    width: at.clientWidth,
    height: plotHeight,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(5, max * 1.1)] } },
    axes: [
      axis,
      {
        ...axis,
        size: 52,
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? shortCount(value) : '')),
      },
    ],
    series: [
      { value: (_plot, value) => localTime(new Date(value * 1000).toISOString()) },
      ...lines.map(({ name, colour: of }) => ({
        label: name,
        stroke: colour(of),
        width: 1.75,
        fill: of === '--accent' ? `color-mix(in srgb, ${colour(of)} 10%, transparent)` : '',
        points: { show: false },
      })),
    ],
    hooks: { setSelect: [choose] },
  };
}

/** A drag of at least some pixels: a click is none. */
const dragMin = 6;

function choose(plot: uPlot): void {
  const { left, width } = plot.select;
  if (width < dragMin) return;
  const from = plot.posToVal(left, 'x') * 1000;
  const to = plot.posToVal(left + width, 'x') * 1000;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  showBetween(from, Math.max(to, from + 60_000));
}
