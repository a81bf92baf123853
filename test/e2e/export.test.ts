// herald export beside a running service: killed again and again it holds every event once, night after night, in each table and format, and the counts are
// the statistics'.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { TableName } from '../../src/export/columns.ts';
import { tableNames } from '../../src/export/columns.ts';
import { formats } from '../../src/export/formats/index.ts';
import { columnIn } from '../support/exported-rows.ts';
import { embeddedOnly, engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, heraldCommand, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import type { Poster } from '../support/posting.ts';
import { createPoster } from '../support/posting.ts';
import { statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

/** The promise is kept with HERALD_TEST_EXPORTED=20000 as well. */
const perNight = Number(process.env['HERALD_TEST_EXPORTED'] ?? 300);
/** What is written of a table in a format has nothing to do with the engines: on real ones each table is exported in one format, and a few nights long. */
const nights = engineSet === 'real' ? 2 : 7;
const kills = 10;
/** Of each other table and format. HERALD_TEST_EXPORT_KILLS=10 kills them as often as the first. */
const killsOfOthers = Number(process.env['HERALD_TEST_EXPORT_KILLS'] ?? (engineSet === 'real' ? 1 : 2));

/** What names a row of each table. */
const idOf: Readonly<Record<TableName, string>> = { events: 'eventId', notifications: 'id', attempts: 'attemptId' };
const formatsOf = (table: TableName) =>
  engineSet === 'real' ? formats.filter((_, i) => i === tableNames.indexOf(table) % formats.length) : formats;
const combinations = tableNames.flatMap((table) => formatsOf(table).map((format) => ({ table, format })));

let dataDir: DataDir;
let service: Herald;
let poster: Poster;
let folder: string;
let accepted = 0;

beforeAll(async () => {
  dataDir = await makeDataDir();
  folder = await mkdtemp(join(tmpdir(), 'herald-exported-'));
  service = await startHerald(dataDir);
  poster = createPoster();
  await postNight();
}, 120_000);

afterAll(async () => {
  await poster?.close();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
  await dataDir?.remove();
}, 60_000);

/** Delivered when it resolves: an event for each request and one for its delivery. */
async function postNight(): Promise<void> {
  await poster.postMany(service, { channel: 'IN_APP', recipient: 'ada', body: 'Good night ✓' }, perNight);
  accepted += perNight;
  await until(async () => (await statisticsOf(service)).statusCounts['DELIVERED'] === accepted, {
    timeoutMs: 60_000,
    what: 'all to be delivered',
  });
}

const exported = (...args: string[]) => herald(['export', ...args], dataDir.environment);
const path = (name: string) => join(folder, name);

/** kill -9 once it has finished one more file than it found; resolves with whether it was, or had come to its end by then. */
async function killedOnce(name: string, args: readonly string[]): Promise<boolean> {
  const filesOf = () =>
    (existsSync(path(name)) ? readdirSync(path(name)) : []).filter((file) => /-\d{5,}\.[a-z]+$/.test(file)).length;
  const before = filesOf();
  const child = spawn(process.execPath, [...heraldCommand, 'export', '--out', path(name), ...args], {
    env: processEnvironment(dataDir.environment),
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until(() => child.exitCode !== null || filesOf() > before, { timeoutMs: 60_000, everyMs: 1, what: 'a file' });
  child.kill('SIGKILL');
  await exited;
  return child.signalCode === 'SIGKILL';
}

/** Files enough for every kill to find the next one. */
const rowsPerFile = String(Math.max(1, Math.floor(perNight / 150)));
const idsIn = (name: string, column: string) => columnIn(path(name), column);

/** Ends it so often, and then lets it come to its end; resolves with how often that was, where a quick one came to its end before. */
async function exportKilled(name: string, times: number, args: readonly string[]): Promise<number> {
  let killed = 0;
  while (killed < times && (await killedOnce(name, args))) killed++;
  if (!existsSync(join(path(name), 'manifest.json'))) {
    const { code, stderr } = await exported('--out', path(name), ...args);
    expect([name, code, stderr]).toEqual([name, 0, expect.stringMatching(/export: \d+ rows of \w+ in \d+ files/)]);
  }
  return killed;
}

describe('an export beside a running service', () => {
  it('killed ten times holds every event once, as many as the statistics count', async () => {
    expect(await exportKilled('killed', kills, ['--rows-per-file', rowsPerFile])).toBe(kills);
    const ids = await idsIn('killed', 'eventId');
    const types = await idsIn('killed', 'type');
    const { total } = await statisticsOf(service);
    expect(new Set(ids).size).toBe(ids.length);
    expect(types.filter((type) => type === 'NotificationRequested')).toHaveLength(total);
    expect(types.filter((type) => type === 'AttemptSucceeded')).toHaveLength(total);
    expect(await exported('--verify', path('killed'))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('verify: complete'),
    });
  }, 240_000);

  it('of each table in each format, killed on the way, holds every row once, the same in all three', async () => {
    const { total } = await statisticsOf(service);
    const ids = new Map<TableName, readonly string[]>();
    let killed = 0;
    for (const { table, format } of combinations) {
      const name = `${table}-${format}`;
      const args = ['--table', table, '--format', format, '--rows-per-file', rowsPerFile];
      killed += await exportKilled(name, killsOfOthers, args);
      const found = (await idsIn(name, idOf[table])).toSorted();
      expect([name, new Set(found).size]).toEqual([name, found.length]);
      expect([name, found]).toEqual([name, ids.get(table) ?? found]);
      ids.set(table, found);
    }
    expect(killed).toBeGreaterThan(killsOfOthers);
    expect(ids.get('events')).toEqual((await idsIn('killed', 'eventId')).toSorted());
    for (const table of ['notifications', 'attempts'] as const) expect(ids.get(table)).toHaveLength(total);
  }, 600_000);

  it('night after night, each killed on the way, has no gap and no repeat in any table, whatever the format of the night', async () => {
    const before = (table: TableName, night: number) =>
      night === 1 ? `${table}-${formatsOf(table)[0]}` : `${table}-night-${night - 1}`;
    const all = new Map<TableName, string[]>();
    for (const table of tableNames) all.set(table, [...(await idsIn(before(table, 1), idOf[table]))]);
    for (let night = 1; night <= nights; night++) {
      await postNight();
      for (const [i, table] of tableNames.entries()) {
        const name = `${table}-night-${night}`;
        const format = formats[(night + i) % formats.length] ?? 'ndjson';
        const rows = String(Math.max(1, Math.floor(perNight / 20)));
        const args = ['--since', path(before(table, night)), '--format', format, '--rows-per-file', rows];
        await exportKilled(name, 1, args);
        const ids = await idsIn(name, idOf[table]);
        expect([name, ids.length >= perNight]).toEqual([name, true]);
        all.get(table)?.push(...ids);
      }
    }
    for (const table of tableNames) {
      expect(await exported('--out', path(`${table}-whole`), '--table', table)).toMatchObject({ code: 0 });
      const whole = (await idsIn(`${table}-whole`, idOf[table])).toSorted();
      expect(all.get(table)?.toSorted()).toEqual(whole);
      expect(whole.length).toBeGreaterThanOrEqual((await statisticsOf(service)).total);
    }
  }, 600_000);

  it('goes to stdout as well, a tenant’s alone where that is asked for', async () => {
    const { body } = await service.dashboard('GET', '/tenant');
    const tenant = String(body['id']);
    const own = await exported('--out', '-', '--tenant', tenant, '--type', 'BatchAccepted');
    const batches = own.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { payload: { accepted: number } });
    expect(batches.reduce((sum, { payload }) => sum + payload.accepted, 0)).toBe(accepted);
    expect((await exported('--out', '-', '--tenant', 'tnt_other')).stdout).toBe('');
    const csv = await exported('--out', '-', '--format', 'csv', '--channel', 'email');
    expect(csv.stdout.split('\r\n')[0]).toMatch(/^topic,partition,offset,appendedAt,type,eventId,/);
  });

  embeddedOnly(
    'says in a sentence what is wrong with what was asked for',
    async () => {
      for (const [args, said] of [
        [[], '--out: name a folder for the export, or - for stdout'],
        [['--out', path('x'), '--table', 'event'], '--table: there is no event; did you mean events?'],
        [['--out', path('x'), '--type', 'Sent'], '--type: there is no Sent'],
        [['--out', '-', '--format', 'parquet'], '--format: parquet needs a folder as --out'],
        [['--out', path('x'), '--from', 'Tuesday'], '--from: should be an ISO 8601 time'],
        [['--out', path('killed')], 'holds an export that is complete'],
        [['--out', path('x'), '--since', path('nothing')], 'holds no export'],
        [['--out', path('x'), '--since', path('killed'), '--tenant', 'tnt_x'], '--tenant: the export in'],
      ] as const)
        expect(await exported(...args)).toMatchObject({
          code: expect.any(Number),
          stderr: expect.stringContaining(said),
        });
    },
    120_000,
  );
});
