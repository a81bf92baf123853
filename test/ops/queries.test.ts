// Rules and board ask for series that a service has from its start on: a name or a label's value that is another would be silent for ever.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { makeDataDir, startHerald } from '../support/herald.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { alertRules, boardQueries } from './ops-files.ts';

let dataDir: DataDir;
let service: Herald;
let page: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir);
  page = await (await fetch(`${service.operationsUrl}/metrics`)).text();
}, 60_000);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
});

/** There once something was measured; a histogram has no labels' values that are known before. */
const kinds = () =>
  new Map([...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', kind = '']) => [name, kind]));
/** Of a cluster alone, or of whom there is something to say of. */
const sometimes = new Set([
  'herald_redis_up',
  'herald_topics',
  'herald_breaker_open_seconds',
  'herald_tenant_busy_seconds',
]);

interface Selector {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
}

function selectorsOf(expr: string): Selector[] {
  return [...expr.matchAll(/((?:herald|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', inside = '']) => ({
    name,
    matchers: [...inside.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }));
}

function isThere({ name, matchers }: Selector): boolean {
  const known = kinds();
  if (known.get(name.replace(/_bucket$/, '')) === 'histogram') return true;
  const samples = [...page.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? `, 'gm'))].map(([, labels = '']) => labels);
  const fits = (labels: string) =>
    matchers
      // The job is the scraper's word.
      .filter(({ label }) => label !== 'job')
      .every(({ label, operator, value }) => {
        const own = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
        const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(own) : own === value;
        return operator.startsWith('!') ? !isEqual : isEqual;
      });
  return sometimes.has(name) ? known.has(name) : samples.some(fits);
}

describe('every query', () => {
  it('of the rules finds its series in a service where nothing has happened', () => {
    const missing = alertRules().flatMap(({ alert, expr }) =>
      selectorsOf(expr)
        .filter((selector) => !isThere(selector))
        .map(({ name }) => `${alert}: ${name}`),
    );
    expect(missing).toEqual([]);
    expect(isThere({ name: 'herald_lane_depth', matchers: [{ label: 'lane', operator: '=', value: 'HIGH' }] })).toBe(
      false,
    );
  });

  it('of the board does too', () => {
    const missing = boardQueries().flatMap((expr) => selectorsOf(expr).filter((selector) => !isThere(selector)));
    expect(missing).toEqual([]);
    expect(boardQueries().length).toBeGreaterThan(15);
  });
});
