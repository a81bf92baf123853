// What was measured and what was aimed at: rows of the table that ends a run, what happened over time, and the figures of --json.

export interface Row {
  readonly what: string;
  /** The median of all runs. */
  readonly value: number;
  /** Of each run. */
  readonly values: readonly number[];
  readonly unit: string;
  readonly target: Target | null;
}

export type Target =
  | { readonly kind: 'at least'; readonly value: number }
  | { readonly kind: 'at most'; readonly value: number };

/** A line of a plot. */
export interface Series {
  readonly plot: string;
  readonly line: string;
  readonly unit: string;
  readonly points: readonly Point[];
}

export interface Point {
  readonly atSeconds: number;
  readonly value: number;
}

export interface Results {
  /** A line of progress. */
  progress(line: string): void;
  /** Once a run. @param target null: it is only told */
  add(what: string, value: number, unit: string, target?: Target | null): void;
  addSeries(series: Series): void;
  rows(): readonly Row[];
  /** Of the last run: a later one takes the place of one of the same name. */
  series(): readonly Series[];
  table(heading: string): string;
}

export function createResults(print: (line: string) => void): Results {
  const added = new Map<string, { values: number[]; unit: string; target: Target | null }>();
  const series = new Map<string, Series>();
  const rows = () =>
    [...added].map(([what, { values, unit, target }]) => ({ what, value: median(values), values, unit, target }));
  return {
    progress: print,
    add(what, value, unit, target) {
      const row = added.get(what) ?? { values: [], unit, target: target ?? null };
      // What is aimed at may follow from a figure of the same run.
      added.set(what, { unit, target: target ?? null, values: [...row.values, value] });
    },
    addSeries: (one) => void series.set(`${one.plot}\n${one.line}`, one),
    rows,
    series: () => [...series.values()],
    table: (heading) => `${heading}\n\n${table(rows())}`,
  };
}

export function isMet({ value, target }: Row): boolean {
  if (target === null) return true;
  return target.kind === 'at least' ? value >= target.value : value <= target.value;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function formatted(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function targetText({ target, unit }: Row): string {
  return target === null ? '' : `${target.kind} ${formatted(target.value)} ${unit}`.trimEnd();
}

export function verdict(row: Row): string {
  if (row.target === null) return '';
  return isMet(row) ? 'ok' : 'MISSED';
}

function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.what, `${formatted(row.value)} ${row.unit}`, targetText(row), verdict(row)]);
  const all = [['', 'measured', 'target', ''], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const lines = all.map(([what = '', value = '', target = '', last = '']) =>
    `${what.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}  ${target.padStart(widths[2] ?? 0)}  ${last}`.trimEnd(),
  );
  return lines.join('\n');
}
