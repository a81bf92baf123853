// herald export beside a running service: killed again and again it holds every event once, night after night, and the counts are the statistics'.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Manifest } from '../../src/export/manifest.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald, heraldCommand, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import type { Poster } from '../support/posting.ts';
import { createPoster } from '../support/posting.ts';
import { statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

/** The promise is kept with HERALD_TEST_EXPORTED=20000 as well. */
const perNight = Number(process.env['HERALD_TEST_EXPORTED'] ?? 300);
const nights = 7;
const kills = 10;

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
const manifestOf = async (name: string) =>
  JSON.parse(await readFile(join(path(name), 'manifest.json'), 'utf8')) as Manifest;

async function rowsOf(name: string): Promise<Record<string, unknown>[]> {
  const { files } = await manifestOf(name);
  const texts = await Promise.all(files.map((file) => readFile(join(path(name), file.path), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** kill -9 once it has finished one more file than it found; resolves with whether it was, or had come to its end by then. */
async function killedOnce(name: string, args: readonly string[]): Promise<boolean> {
  const filesOf = () =>
    (existsSync(path(name)) ? readdirSync(path(name)) : []).filter((file) => file.endsWith('.ndjson')).length;
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

const eventIds = (rows: readonly Record<string, unknown>[]) => rows.map((row) => String(row['eventId']));

describe('an export beside a running service', () => {
  it('killed ten times holds every event once, as many as the statistics count', async () => {
    const args = ['--rows-per-file', String(Math.max(1, Math.floor(perNight / 150)))];
    let killed = 0;
    while (killed < kills && (await killedOnce('killed', args))) killed++;
    expect(killed).toBe(kills);
    const { code, stderr } = await exported('--out', path('killed'), ...args);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/export: \d+ rows of events in \d+ files/)]);
    const rows = await rowsOf('killed');
    const { total } = await statisticsOf(service);
    expect(new Set(eventIds(rows)).size).toBe(rows.length);
    expect(rows.filter(({ type }) => type === 'NotificationRequested')).toHaveLength(total);
    expect(rows.filter(({ type }) => type === 'AttemptSucceeded')).toHaveLength(total);
    expect(await exported('--verify', path('killed'))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('verify: complete'),
    });
  }, 240_000);

  it('night after night, each killed on the way, has no gap and no repeat', async () => {
    const all: string[] = eventIds(await rowsOf('killed'));
    for (let night = 1; night <= nights; night++) {
      await postNight();
      const name = `night-${night}`;
      const args = [
        '--since',
        path(night === 1 ? 'killed' : `night-${night - 1}`),
        '--rows-per-file',
        String(perNight / 5),
      ];
      await killedOnce(name, args);
      if (!existsSync(join(path(name), 'manifest.json')))
        expect(await exported('--out', path(name), ...args)).toMatchObject({ code: 0 });
      const ids = eventIds(await rowsOf(name));
      expect(ids.length).toBeGreaterThanOrEqual(2 * perNight);
      all.push(...ids);
    }
    expect(await exported('--out', path('whole'))).toMatchObject({ code: 0 });
    expect(all.toSorted()).toEqual(eventIds(await rowsOf('whole')).toSorted());
    expect(all.length).toBeGreaterThanOrEqual(2 * (await statisticsOf(service)).total);
  }, 300_000);

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

  it('says in a sentence what is wrong with what was asked for', async () => {
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
  }, 120_000);
});
