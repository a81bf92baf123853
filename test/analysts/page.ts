// docs/analysts.md: its queries, the table behind each, and the plots of what they give.

import type { Line } from './plots.ts';
import { barPlot, percentPlot } from './plots.ts';

type Cell = string | number | boolean | null;

export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

const queryAndTable = /```sql\n(.*?)```\n\n((?:\|[^\n]*\n)+)/gs;

/** In their order. */
export function queriesOf(page: string): readonly string[] {
  return [...page.matchAll(queryAndTable)].map(([, query = '']) => query);
}

/** The page with these tables. */
export function withTables(page: string, answers: readonly Answer[]): string {
  let nth = 0;
  return page.replaceAll(queryAndTable, (_, query: string) => {
    const answer = answers[nth++];
    if (answer === undefined) throw new Error('a query has no answer');
    return `\`\`\`sql\n${query}\`\`\`\n\n${tableOf(answer)}`;
  });
}

function tableOf({ columns, rows }: Answer): string {
  const line = (cells: readonly Cell[]) => `| ${cells.map((cell) => cell ?? '').join(' | ')} |\n`;
  return [line(columns), `|${'---|'.repeat(columns.length)}\n`, ...rows.map(line)].join('');
}

/** By the name of their file. */
export function plotsOf([delivery, latency, causes, cohorts]: readonly Answer[]): Readonly<Record<string, string>> {
  if (delivery === undefined || latency === undefined || causes === undefined || cohorts === undefined)
    throw new Error('the page has four queries with plots');
  return {
    'delivery.svg': deliveryPlot(delivery),
    'latency.svg': barPlot(
      'From acceptance to delivery, ms',
      ['p50', 'p95', 'p99'],
      barsOf(latency, 'priority', ['p50', 'p95', 'p99']),
    ),
    'causes.svg': barPlot(
      'Failed attempts by cause',
      ['final', 'retried'],
      barsOf(withCause(causes), 'cause', ['final', 'retried']),
    ),
    'cohorts.svg': barPlot(
      'Cohorts of the template welcome, percent',
      ['delivered', 'opened', 'clicked'],
      barsOf(cohorts, 'version', ['deliveredPercent', 'openedPercent', 'clickedPercent']),
    ),
  };
}

function deliveryPlot(answer: Answer): string {
  const hours = [...new Set(textsOf(answer, 'hour'))];
  const providers = [...new Set(textsOf(answer, 'provider'))];
  const lines = providers.map((name): Line => {
    const own = { ...answer, rows: answer.rows.filter((row) => row[at(answer, 'provider')] === name) };
    const byHour = new Map(own.rows.map((row) => [row[at(answer, 'hour')], row[at(answer, 'deliveredPercent')]]));
    return { name, values: hours.map((hour) => (byHour.has(hour) ? Number(byHour.get(hour)) : null)) };
  });
  return percentPlot('Attempts that delivered, by provider and hour', hours, lines);
}

function withCause(answer: Answer): Answer {
  const cause = answer.rows.map((row) => `${row[at(answer, 'provider')]} ${row[at(answer, 'errorCode')]}`);
  return { columns: [...answer.columns, 'cause'], rows: answer.rows.map((row, i) => [...row, cause[i] ?? null]) };
}

function barsOf(answer: Answer, label: string, parts: readonly string[]) {
  return answer.rows.map((row) => ({
    label: String(row[at(answer, label)]),
    values: parts.map((part) => Number(row[at(answer, part)])),
  }));
}

function textsOf(answer: Answer, column: string): readonly string[] {
  return answer.rows.map((row) => String(row[at(answer, column)]));
}

function at({ columns }: Answer, name: string): number {
  const found = columns.indexOf(name);
  if (found < 0) throw new Error(`no query gives a column ${name}`);
  return found;
}
