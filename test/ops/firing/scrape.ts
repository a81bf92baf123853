// What Prometheus sees of a process: its page of metrics, read into samples.

import type { Herald } from '../../support/herald.ts';

export type Kind = 'counter' | 'gauge';

export interface Sample {
  readonly kind: Kind;
  readonly value: number;
}

/** By the series as Prometheus writes it: `name{label="value"}`, or the name alone. */
export type Page = ReadonlyMap<string, Sample>;

export async function scrape(service: Pick<Herald, 'operationsUrl'>): Promise<Page> {
  const response = await fetch(`${service.operationsUrl}/metrics`);
  return pageOf(await response.text());
}

export function nameOf(series: string): string {
  return series.split('{', 1)[0] ?? '';
}

/** The sum of the series of a name that have all of the labels, each written `label="value"`. */
export function sumOf(page: Page, name: string, ...labels: readonly string[]): number {
  let sum = 0;
  for (const [series, { value }] of page)
    if (nameOf(series) === name && labels.every((label) => series.includes(label))) sum += value;
  return sum;
}

function pageOf(text: string): Page {
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind]));
  const kindOf = (series: string): Kind => {
    const name = nameOf(series);
    // Parts of a histogram count.
    const kind = kinds.get(name) ?? kinds.get(name.replace(/_(?:bucket|sum|count)$/, ''));
    return kind === 'gauge' ? 'gauge' : 'counter';
  };
  const lines = text.matchAll(/^(?!#)(\S+?(?:\{.*\})?) (\S+)$/gm);
  return new Map(
    [...lines].map(([, series = '', value = '']) => [series, { kind: kindOf(series), value: Number(value) }]),
  );
}
