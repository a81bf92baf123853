// What stands in ops/: the rules of Prometheus and the queries of the board.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { parse } from 'yaml';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export const rulesPath = fileURLToPath(new URL('../../ops/prometheus/alerts.yml', import.meta.url));

export function alertRules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(rulesPath, 'utf8')) as { groups: readonly { rules: readonly AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export function boardQueries(): readonly string[] {
  const text = readFileSync(new URL('../../ops/grafana/herald.json', import.meta.url), 'utf8');
  const { panels } = JSON.parse(text) as { panels: readonly { targets: readonly { expr: string }[] }[] };
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}
