// docs/analysts.md: every query runs in DuckDB over the export of a made-up shop and gives the table that stands behind it; its plots are of these tables.
// ANALYSTS_WRITE=1 writes tables and plots anew.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { Table } from '../../src/export/columns.ts';
import { tableNames } from '../../src/export/columns.ts';
import { readManifest } from '../../src/export/manifest.ts';
import { tables } from '../../src/export/tables/index.ts';
import { shopEvents } from './history.ts';
import type { Answer } from './page.ts';
import { plotsOf, queriesOf, withTables } from './page.ts';
import { exportShop } from './shop-export.ts';

interface Ran {
  readonly answers: readonly Answer[];
  /** As pyarrow reads them. */
  readonly tables: Readonly<
    Record<string, { readonly rows: number; readonly types: Readonly<Record<string, string>> }>
  >;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const pagePath = fileURLToPath(new URL('../../docs/analysts.md', import.meta.url));
const plotPath = (name: string) => fileURLToPath(new URL(`../../docs/analysts/${name}`, import.meta.url));

let folder: string;
let page: string;
let ran: Ran;
/** The same queries, of a log from which requests of the first day are gone, and their outcomes aren't. */
let ranOfTrimmed: Ran;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-analysts-'));
  page = await readFile(pagePath, 'utf8');
  const python = join(folder, 'python');
  await command('python3', ['-m', 'venv', python]);
  await command(join(python, 'bin/pip'), ['install', '--quiet', '-r', join(here, 'requirements.txt')]);
  await exportShop(folder);
  const run = async (queries: readonly string[], cwd: string) =>
    JSON.parse(await command(join(python, 'bin/python'), [join(here, 'run.py')], JSON.stringify(queries), cwd)) as Ran;
  ran = await run([...queriesOf(page), onceOf(page)], folder);
  const trimmed = join(folder, 'trimmed');
  await mkdir(trimmed);
  await exportShop(trimmed, withoutFirstRequests());
  ranOfTrimmed = await run(queriesOf(page).slice(-1), trimmed);
  if (process.env['ANALYSTS_WRITE'] === undefined) return;
  await writeFile(pagePath, withTables(page, ran.answers));
  for (const [name, plot] of Object.entries(plotsOf(ran.answers))) await writeFile(plotPath(name), plot);
  page = await readFile(pagePath, 'utf8');
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function withoutFirstRequests() {
  const events = shopEvents();
  const dayMs = 86_400_000;
  const until = (events[0]?.occurredAt ?? 0) + dayMs;
  return events.filter(({ type, occurredAt }) => type !== 'NotificationRequested' || occurredAt >= until);
}

/** How many events there are in two exports of the same, by what the page says of overlapping ranges. */
function onceOf(text: string): string {
  const [, places] = /of `events`[^`]*`(partition by [^`]*)`/.exec(text) ?? [];
  return `select count(*) as events from (
    select * from read_parquet(['export/events/events-00001.parquet', 'export/events/events-00001.parquet'])
    qualify row_number() over (${places}) = 1)`;
}

/** Answers its standard output. */
async function command(file: string, args: readonly string[], input = '', cwd = folder): Promise<string> {
  const child = spawn(file, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`${file} ended with ${String(code)}: ${stderr}`);
  return stdout;
}

it('each query of the page gives the table behind it', () => {
  expect(ran.answers.length).toBeGreaterThanOrEqual(5);
  expect(withTables(page, ran.answers)).toBe(page);
});

it('an export says that it is all there, also where retention has taken requests and left their outcomes', () => {
  const [all, trimmed] = [ran.answers.at(-2)?.rows[0], ranOfTrimmed.answers[0]?.rows[0]];
  expect([all?.at(-1), trimmed?.at(-1)]).toEqual([true, true]);
  const [requested, , attempts] = trimmed ?? [];
  expect(Number(requested)).toBeLessThan(Number(all?.[0]));
  expect(attempts).toBe(all?.[2]);
});

it('of events that are in two exports each is once', () => {
  expect(ran.answers.at(-1)?.rows).toEqual([[shopEvents().length]]);
});

it('the plots are of these tables, and each stands in the page', async () => {
  for (const [name, plot] of Object.entries(plotsOf(ran.answers))) {
    expect(await readFile(plotPath(name), 'utf8')).toBe(plot);
    expect(page).toContain(`(analysts/${name})`);
  }
});

const arrowTypes: Readonly<Record<Table['columns'][number]['kind'], string>> = {
  text: 'string',
  json: 'string',
  integer: 'int64',
  timestamp: 'timestamp[ms, tz=UTC]',
  boolean: 'bool',
};

it('pyarrow reads as many rows as were exported, in the documented types', () => {
  for (const name of tableNames) {
    const manifest = readManifest(join(folder, 'export', name))?.manifest;
    expect([name, ran.tables[name]?.rows]).toEqual([name, manifest?.rows]);
    const types = tables[name].columns.map((column) => [column.name, arrowTypes[column.kind]]);
    expect(ran.tables[name]?.types).toEqual(Object.fromEntries(types));
  }
  expect(ran.tables['events']?.rows).toBe(shopEvents().length);
});
