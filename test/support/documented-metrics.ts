// The table of OPERATIONS.md that lists every metric.

import { readFileSync } from 'node:fs';

export interface DocumentedMetric {
  readonly kind: string;
  readonly labels: readonly string[];
}

export function documentedMetrics(): ReadonlyMap<string, DocumentedMetric> {
  const text = readFileSync(new URL('../../OPERATIONS.md', import.meta.url), 'utf8');
  const rows = text.matchAll(/^\| `(herald_\w+)(?:\{([a-z_,]+)\})?` \| (counter|gauge|histogram) \|/gm);
  const metrics = new Map(
    [...rows].map(([, name = '', labels, kind = '']) => [name, { kind, labels: labels?.split(',') ?? [] }] as const),
  );
  if (metrics.size === 0) throw new Error('OPERATIONS.md has no table with rows of | `herald_...` | counter | ... |');
  return metrics;
}
