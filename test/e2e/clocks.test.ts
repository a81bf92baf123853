// A machine whose clock is two hours ahead until it is set right, as one's is that begins with its hour in local time until NTP has answered: nothing waits for
// that hour to come once more, whether the process goes on or is killed meanwhile.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Environment, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { askFor, failedBatch, jobOf } from '../support/job-runs.ts';
import { until } from '../support/until.ts';

const aheadMs = 2 * 3_600_000;
const clockOf = fileURLToPath(new URL('../support/set-clock.ts', import.meta.url));
const timeoutMs = 180_000;

let folder: string;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'herald-clock-'));
  setAhead(aheadMs);
  dataDir = await makeDataDir();
  const seen = new Set<string>();
  world = await startDeliveryWorld(({ path }, response) => {
    const isFirst = !seen.has(path);
    seen.add(path);
    if (path.startsWith('/gone/')) response.writeHead(410).end();
    else response.writeHead(path.startsWith('/later/') && isFirst ? 500 : 200).end();
  });
}, timeoutMs);
afterEach(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
  rmSync(folder, { recursive: true, force: true });
}, timeoutMs);

function setAhead(ms: number): void {
  writeFileSync(join(folder, 'ahead-ms'), String(ms));
}

async function start(more: Environment = {}): Promise<void> {
  const clock = { NODE_OPTIONS: `--import ${clockOf}`, TEST_CLOCK_FILE: join(folder, 'ahead-ms') };
  service = await startHerald(dataDir, { ...world.environment, ...clock, ...more });
}

const arrivals = (path: string) => world.webhooks.requests.filter((request) => request.path === path).length;
const post = (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const body = { channel: 'WEBHOOK', recipient: `${world.webhooks.url}${path}`, priority: 'HIGH', body: 'x' };
  return service.call('POST', '/api/v1/notify', { body, headers: { 'x-api-key': service.apiKey, ...headers } });
};
const arrived = (path: string, times = 1) =>
  until(() => arrivals(path) >= times, { timeoutMs: 60_000, what: `${path}, ${times}` });
const statusOf = async (id: unknown) => {
  const { body } = await service.call('GET', `/api/v1/notify/${String(id)}`, {
    headers: { 'x-api-key': service.apiKey },
  });
  return (body['notification'] as { status?: string } | undefined)?.status;
};

it(
  'set right while it runs: a retry comes after its delay, what is sent from then on is delivered and read, and a key holds',
  async () => {
    await start();
    const keyed = { 'idempotency-key': 'one' };
    const first = await post('/keyed', keyed);
    const failing = await post('/later/1');
    expect([first.status, failing.status]).toEqual([202, 202]);
    await arrived('/keyed');
    await arrived('/later/1');
    setAhead(0);
    await arrived('/later/1', 2);
    const second = await post('/after');
    await arrived('/after');
    for (const { body } of [failing, second])
      await until(async () => (await statusOf(body['notificationId'])) === 'DELIVERED', { what: 'the record' });
    const again = await post('/keyed', keyed);
    expect([again.status, again.body['notificationId']]).toEqual([202, first.body['notificationId']]);
    const ready = await fetch(`${service.operationsUrl}/health/ready`);
    expect(ready.status).toBe(200);
    expect([arrivals('/keyed'), arrivals('/later/1'), arrivals('/after')]).toEqual([1, 2, 1]);
  },
  timeoutMs,
);

it(
  'killed with a job and a retry before it is set right: both are gone on with at the next start',
  async () => {
    await start({ ROLES: 'api,dispatcher,projector' });
    const count = 20;
    const batch = await failedBatch(service, world, count, '/gone');
    await post('/later/1');
    await arrived('/later/1');
    const job = await askFor(service, `/notify/batch/${batch.id}/retry`);
    await service.kill();
    setAhead(0);
    await start();
    await arrived('/later/1', 2);
    expect(await jobOf(service, job, count)).toMatchObject({ state: 'done', total: count, done: count });
    await until(() => batch.again() === count, { what: 'all of them again' });
  },
  timeoutMs,
);
