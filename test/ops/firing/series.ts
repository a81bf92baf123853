// Time stretched: two scrapes of a real service, before its failure and in it, as an hour of a Prometheus that scrapes once a minute.
//
//   minute    0 ........ 10   11 ................ 60
//   counters  before          + what was counted between the two scrapes, again from each scrape to the next
//   gauges    before          as they were in the failure

import { alertRules, boardQueries } from '../ops-files.ts';
import type { Page, Sample } from './scrape.ts';
import { nameOf } from './scrape.ts';

export interface Seen {
  readonly before: Page;
  /** null: the process doesn't answer. */
  readonly failing: Page | null;
  /** Gauges that go on as they went between the two scrapes. */
  readonly moving?: readonly string[];
  /** From one scrape to the next; default: 60. Where a rate counts, as long as it really was. */
  readonly everySeconds?: number;
}

export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

/** Twice the longest range of a short-term alert. */
const wellMinutes = 10;
/** Longer than any alert waits: 30 min, and 10 of a range. */
const failingMinutes = 50;
export const endMinute = wellMinutes + failingMinutes;
export const usualEverySeconds = 60;

/** What rules and board ask for; a page has much more. */
export function stretched(seen: Seen): readonly InputSeries[] {
  const { before, failing, moving = [], everySeconds = usualEverySeconds } = seen;
  const scrapesOf = (minutes: number) => Math.ceil((minutes * 60) / everySeconds);
  const valuesOf = inNotation(scrapesOf(wellMinutes), scrapesOf(failingMinutes));
  const asked = askedFor();
  const all = new Set([...before.keys(), ...(failing?.keys() ?? [])]);
  const series = [...all].filter((one) => asked.has(nameOf(one)));
  return [
    { series: 'up{job="herald",instance="one"}', values: valuesOf(1, failing === null ? 0 : 1, 0) },
    ...series.map((one) => ({
      series: labelled(one),
      values: valuesOf(...course(before.get(one), failing?.get(one), moving.includes(nameOf(one)))),
    })),
  ];
}

function askedFor(): ReadonlySet<string> {
  const queries = [...alertRules().map(({ expr }) => expr), ...boardQueries()];
  return new Set(queries.flatMap((query) => query.match(/\b(?:herald|process)_\w+/g) ?? []));
}

/** As a scraper labels what it finds. */
function labelled(series: string): string {
  const of = 'job="herald",instance="one"';
  return series.includes('{') ? series.replace('{', `{${of},`) : `${series}{${of}}`;
}

/** What it was, what it is in the failure, and what is added from each scrape to the next. */
function course(
  before: Sample | undefined,
  failing: Sample | undefined,
  isMoving: boolean,
): readonly [number | null, number | null, number] {
  const was = before?.value ?? null;
  if (failing === undefined) return [was, null, 0];
  const { kind, value } = failing;
  if (kind === 'gauge' && !isMoving) return [was, value, 0];
  // A counter below what it was has begun anew, with its process.
  const step = kind === 'counter' && value < (was ?? 0) ? value : value - (was ?? 0);
  return [was, value, step];
}

/** promtool's notation; `_` is a scrape without a sample. */
function inNotation(well: number, failing: number) {
  return (before: number | null, now: number | null, step: number): string => {
    const first = before === null ? `_x${well}` : `${plain(before)}+0x${well}`;
    const then = now === null ? `_x${failing}` : `${plain(now)}${signed(step)}x${failing - 1}`;
    return `${first} ${then}`;
  };
}

function signed(step: number): string {
  return step < 0 ? plain(step) : `+${plain(step)}`;
}

/** Without an exponent, which the notation doesn't have. */
function plain(value: number): string {
  return Number.isNaN(value) ? 'NaN' : String(Number(value.toFixed(6)));
}
