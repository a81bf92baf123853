// What was measured and what was aimed at: rows of the table that ends a run, and the figures of --json.

export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target: Target | null;
}

export type Target =
  | { readonly kind: 'at least'; readonly value: number }
  | { readonly kind: 'at most'; readonly value: number };

export interface Results {
  /** A line of progress. */
  progress(line: string): void;
  /** @param target null: it is only told */
  add(what: string, value: number, unit: string, target?: Target | null): void;
  rows(): readonly Row[];
  table(heading: string): string;
}

export function createResults(print: (line: string) => void): Results {
  const rows: Row[] = [];
  return {
    progress: print,
    add: (what, value, unit, target) => void rows.push({ what, value, unit, target: target ?? null }),
    rows: () => rows,
    table: (heading) => `${heading}\n\n${table(rows)}`,
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

function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.what, `${formatted(row.value)} ${row.unit}`, targetText(row), verdict(row)]);
  const all = [['', 'measured', 'target', ''], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const lines = all.map(([what = '', value = '', target = '', last = '']) =>
    `${what.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}  ${target.padStart(widths[2] ?? 0)}  ${last}`.trimEnd(),
  );
  return lines.join('\n');
}

function targetText({ target, unit }: Row): string {
  return target === null ? '' : `${target.kind} ${formatted(target.value)} ${unit}`;
}

function verdict(row: Row): string {
  if (row.target === null) return '';
  return isMet(row) ? 'ok' : 'MISSED';
}
