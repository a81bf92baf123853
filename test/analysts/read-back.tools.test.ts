// What a service has delivered, exported as Parquet and read back by DuckDB and by pyarrow: each counts what the log has and what GET /dashboard/stats says.
// Larger: HERALD_TEST_READ_BACK=100000 (four minutes on a slow machine, most of them for delivering them).

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { tableNames } from '../../src/export/columns.ts';
import { manifestIn } from '../support/exported-rows.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, makeDataDir, startHerald } from '../support/herald.ts';
import { createPoster, endlessLimits } from '../support/posting.ts';
import { statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

const count = Number(process.env['HERALD_TEST_READ_BACK'] ?? 20_000);

/** By program: rows of each table, events by type, notifications by status. */
type Counts = Readonly<Record<'rows' | 'types' | 'statuses', Readonly<Record<string, number>>>>;

let dataDir: DataDir;
let service: Herald;
let folder: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  folder = await mkdtemp(join(tmpdir(), 'herald-read-back-'));
  service = await startHerald(dataDir, endlessLimits);
  const poster = createPoster();
  await poster.postMany(service, { channel: 'IN_APP', recipient: 'ada', body: 'Good morning ✓' }, count);
  await poster.close();
  const delivered = async () => (await statisticsOf(service)).statusCounts['DELIVERED'] === count;
  await until(delivered, { timeoutMs: 600_000, what: 'all to be delivered' });
}, 900_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
  await dataDir?.remove();
}, 60_000);

/** Answers its standard output. */
async function command(file: string, args: readonly string[]): Promise<string> {
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`${file} ended with ${String(code)}: ${stderr}`);
  return stdout;
}

it('DuckDB and pyarrow count what the log has and what the statistics say', async () => {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const python = join(folder, 'python');
  await command('python3', ['-m', 'venv', python]);
  await command(join(python, 'bin/pip'), ['install', '--quiet', '-r', join(here, 'requirements.txt')]);
  const rows: Record<string, number> = {};
  for (const table of tableNames) {
    const out = join(folder, 'export', table);
    const { code, stderr } = await herald(
      ['export', '--out', out, '--table', table, '--format', 'parquet', '--rows-per-file', '30000'],
      dataDir.environment,
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining(`rows of ${table}`)]);
    const manifest = await manifestIn(out);
    rows[table] = manifest.rows;
    if (table === 'events') expect(manifest.rows).toBe(manifest.ranges.reduce((sum, { to }) => sum + to, 0));
  }
  const { total, statusCounts } = await statisticsOf(service);
  expect([rows['notifications'], rows['attempts'], total]).toEqual([count, count, count]);
  const counted = JSON.parse(await command(join(python, 'bin/python'), [join(here, 'read_back.py')])) as Record<
    'duckdb' | 'pyarrow',
    Counts
  >;
  const statuses = Object.fromEntries(Object.entries(statusCounts).filter(([, of]) => of > 0));
  for (const program of ['duckdb', 'pyarrow'] as const) {
    expect([program, counted[program].rows]).toEqual([program, rows]);
    expect([program, counted[program].statuses]).toEqual([program, statuses]);
    const { NotificationRequested: requested, AttemptSucceeded: succeeded } = counted[program].types;
    expect([program, requested, succeeded]).toEqual([program, count, count]);
  }
}, 600_000);
