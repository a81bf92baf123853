// What an export lays aside holds what was sent: none of it is left among the temporary files, whatever ends the command.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../support/herald.ts';
import {
  herald,
  heraldCommand,
  heraldUnread,
  makeDataDir,
  processEnvironment,
  startHerald,
} from '../support/herald.ts';
import { statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

/** Of so many rows a pipe that nobody reads from holds a part. */
const count = 500;
const body = 'x'.repeat(4_000);
let dataDir: DataDir;
let temporary: string;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  temporary = await mkdtemp(join(tmpdir(), 'herald-scratch-'));
  const service = await startHerald(dataDir);
  const item = { channel: 'IN_APP', recipient: 'ada', body };
  const notifications = Array.from({ length: count }, () => item);
  const headers = { 'x-api-key': service.apiKey };
  const answer = await service.call('POST', '/api/v1/notify/batch', { headers, body: { notifications } });
  expect(answer.body['accepted']).toBe(count);
  await until(async () => (await statisticsOf(service))['total'] === count, { what: 'the records' });
  await service.stop();
});
afterAll(async () => {
  await dataDir.remove();
  await rm(temporary, { recursive: true, force: true });
});

const environment = () => ({ ...dataDir.environment, TMPDIR: temporary });
const toStdout = ['export', '--out', '-', '--table', 'notifications'];
/** Node keeps what it has compiled there too. */
const left = () => readdirSync(temporary).filter((name) => name.startsWith('herald-'));

it('of one whose reader goes', async () => {
  expect(await heraldUnread(toStdout, environment())).toMatchObject({ code: 0 });
  expect(left()).toEqual([]);
});

it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)('of one that is told to stop, by %s', async (signal) => {
  const child = spawn(process.execPath, [...heraldCommand, ...toStdout], {
    env: processEnvironment(environment()),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  // What has begun to come isn't read on: it waits for its reader.
  await once(child.stdout, 'readable');
  expect(left()).toEqual([expect.stringMatching(/^herald-export-/)]);
  child.kill(signal);
  expect(await ended).toEqual([130, null]);
  expect(left()).toEqual([]);
});

it('of a check that is refused', async () => {
  const folder = join(dataDir.path, 'exported');
  expect((await herald(['export', '--out', folder, '--table', 'notifications'], environment())).code).toBe(0);
  const path = join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { log: object };
  writeFileSync(path, JSON.stringify({ ...manifest, log: { ...manifest.log, id: 'another' } }));
  const { code, stderr } = await herald(['export', '--verify', folder], environment());
  expect([code, stderr]).toEqual([1, expect.stringContaining('another log')]);
  expect(left()).toEqual([]);
});
