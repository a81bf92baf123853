// A disk on which an event doesn't fit any more, though less would: readiness says so for as long as it is so.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { heraldCommand, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import { readinessOf } from '../support/nodes.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  service = await startHerald(dataDir);
}, 60_000);

afterAll(async () => {
  await service.stop();
  await dataDir.remove();
});

/** No file of the service may be written beyond it: what writes more fails as on a full disk. */
const limitFiles = (bytes: number | 'unlimited') =>
  execFileSync('prlimit', ['--pid', String(service.process.pid), `--fsize=${bytes}:unlimited`]);
const send = (bodyBytes: number) =>
  service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x'.repeat(bodyBytes) });
const logState = async () => (await readinessOf(service.operationsUrl))?.dependencies['log'];

it('log: down while events do not fit, and up once they do', async () => {
  expect((await send(100)).status).toBe(202);
  expect(await logState()).toBe('up');
  // Less than the event, wherever in its file the next one is written: that begins anew once log.db has it all.
  limitFiles(128 * 1024);
  const refused = await send(150_000);
  expect([refused.status, refused.body['code']]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  expect(await logState()).toMatch(/^down/);
  // A probe that fits where the event didn't would say otherwise by now.
  const since = Date.now();
  await until(async () => {
    expect(await logState()).toMatch(/^down/);
    return Date.now() - since > 3_000;
  });
  expect((await readinessOf(service.operationsUrl))?.status).toBe('not ready');
  limitFiles('unlimited');
  await until(async () => (await send(150_000)).status === 202);
  expect(await logState()).toBe('up');
});

it.each([
  ['log lines have', 2],
  ['banner has', 1],
])('a service whose %s no room serves, and stops when it is told to', async (_, full) => {
  const own = await makeDataDir('embedded');
  const disk = openSync('/dev/full', 'a');
  const child = spawn(process.execPath, [...heraldCommand, 'serve'], {
    env: processEnvironment({ PORT: '0', OPS_PORT: '0', LOG_LEVEL: 'info', ...own.environment }),
    stdio: ['ignore', full === 1 ? disk : 'pipe', full === 2 ? disk : 'pipe'],
  });
  closeSync(disk);
  const exited = once(child, 'exit');
  try {
    let told = '';
    for (const side of [child.stdout, child.stderr])
      side?.setEncoding('utf8').on('data', (text: string) => (told += text));
    const operationsUrl = () => /(?:health, metrics\s+|"operationsUrl":")([^\s"]+)/.exec(told)?.[1];
    const url = await until(operationsUrl, { timeoutMs: 60_000, what: 'where it listens' });
    expect((await readinessOf(url))?.status).toBe('ready');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await own.remove();
  }
});
