// The metrics that OPERATIONS.md names are those that there are, with their kinds.

import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { createMetrics } from '../../src/adapters/node/metrics.ts';
import { documentedMetrics } from '../support/documented-metrics.ts';

describe('the metrics', () => {
  it('are each in the table of OPERATIONS.md, which has no others', async () => {
    const page = await createMetrics({ processMetrics: false, thread: 'main' }).read();
    const there = [...page.matchAll(/^# TYPE (herald_\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
    const documented = [...documentedMetrics()].map(([name, { kind }]) => `${name} ${kind}`);
    expect(documented.toSorted()).toEqual(there.toSorted());
  });

  it('that any document speaks of exist, with those labels', () => {
    const documented = documentedMetrics();
    for (const name of ['OPERATIONS.md', 'README.md', 'ARCHITECTURE.md']) {
      const text = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
      for (const [, metric = '', labels] of text.matchAll(/`(herald_\w+)(?:\{([^}]*)\})?`/g)) {
        expect([...documented.keys()]).toContain(metric);
        const given = labels === undefined ? [] : labels.split(',');
        if (given.length > 0) expect(documented.get(metric)?.labels).toEqual(given);
      }
    }
  });
});
