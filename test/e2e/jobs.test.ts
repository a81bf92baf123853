// Jobs through the whole service, killed in the middle: they go on at the next start, nothing is done twice, and what they say is what was done.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { askFor, failedBatch, jobOf, statusOf, stop } from '../support/job-runs.ts';
import { until } from '../support/until.ts';

const count = Number(process.env['E2E_JOB_ITEMS'] ?? '300');
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  // Nothing that is sent there is ever taken, but for what goes to /once: that is refused the first time.
  const seen = new Map<string, string>();
  world = await startDeliveryWorld(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    const isFirst = (seen.get(path) ?? id) === id;
    seen.set(path, seen.get(path) ?? id);
    response.writeHead(path.startsWith('/once/') && !isFirst ? 200 : 410).end();
  });
  service = await startHerald(dataDir, world.environment);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

it('a batch sent again, the process killed twice in the middle: each of it once more, though all of it has failed again', async () => {
  const batch = await failedBatch(service, world, count);
  const job = await askFor(service, `/notify/batch/${batch.id}/retry`);
  for (const part of [0.2, 0.6]) {
    await until(() => batch.again() >= count * part, { timeoutMs: 120_000, what: `${part} of them` });
    await service.kill();
    service = await startHerald(dataDir, world.environment);
  }
  expect(await jobOf(service, job)).toMatchObject({ state: 'done', total: count, done: count, skipped: 0, failed: 0 });
  await statusOf(service, batch.id, 'FAILED', count);
  const rounds = batch.rounds();
  expect(rounds.size).toBe(count);
  expect([...rounds].filter(([, times]) => times !== 2)).toEqual([]);
}, 600_000);

it('what a filter finds is sent again, killed, stopped half-way, killed once more: none twice, the count is what was sent, and another job does the rest', async () => {
  const batch = await failedBatch(service, world, count, '/once');
  const ask = async (dryRun: boolean) => {
    const asked = { filter: { batchId: batch.id }, ratePerSecond: Math.min(500, Math.ceil(count / 5)), dryRun };
    const { status, body } = await service.dashboard('POST', '/notifications/retry', asked);
    expect(status).toBe(202);
    return body;
  };
  const { jobId, matching } = await ask(false);
  expect(matching).toBe(count);
  await until(() => batch.again() >= count * 0.1, { timeoutMs: 120_000, everyMs: 50, what: 'a tenth of them' });
  await service.kill();
  service = await startHerald(dataDir, world.environment);
  // By what the job says: deliveries may come long after.
  const path = `/api/v1/jobs/${String(jobId)}`;
  const headers = { 'x-api-key': service.apiKey };
  const said = async () => Number((await service.call('GET', path, { headers })).body['done']);
  await until(async () => (await said()) >= count * 0.4, { timeoutMs: 120_000, what: 'the job to be half-way' });
  await stop(service, String(jobId));
  const stopped = await jobOf(service, String(jobId));
  const done = Number(stopped['done']);
  await service.kill();
  service = await startHerald(dataDir, world.environment);
  expect(await jobOf(service, String(jobId))).toEqual(stopped);
  await statusOf(service, batch.id, 'DELIVERED', done);
  expect(batch.again()).toBe(done);
  expect((await ask(true))['matching']).toBe(count - done);
  const rest = await jobOf(service, String((await ask(false))['jobId']));
  expect(rest).toMatchObject({ state: 'done', total: count - done, done: count - done, skipped: 0 });
  await statusOf(service, batch.id, 'DELIVERED', count);
  expect([...batch.rounds()].filter(([, times]) => times !== 2)).toEqual([]);
  console.log(`${count}: stopped after ${done}, ${String(stopped['state'])}`);
}, 600_000);

it('a batch cancelled, the process killed in the middle: all of it is cancelled, and counted once', async () => {
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const notifications = Array.from({ length: count }, () => ({
    channel: 'IN_APP',
    recipient: 'ada',
    body: 'x',
    sendAt,
  }));
  const headers = { 'x-api-key': service.apiKey };
  const { body } = await service.call('POST', '/api/v1/notify/batch', { headers, body: { notifications } });
  const id = String(body['batchId']);
  await statusOf(service, id, 'SCHEDULED', count);
  const job = await askFor(service, `/notify/batch/${id}/cancel`);
  const cancelled = async () => {
    const shown = await service.call('GET', `/api/v1/notify/batch/${id}`, { headers });
    return (shown.body['statusCounts'] as Record<string, number>)['CANCELLED'] ?? 0;
  };
  await until(async () => (await cancelled()) > 0, { timeoutMs: 60_000, what: 'the first to be cancelled' });
  await service.kill();
  service = await startHerald(dataDir, world.environment);
  expect(await jobOf(service, job)).toMatchObject({ state: 'done', done: count, skipped: 0, failed: 0 });
  expect(await cancelled()).toBe(count);
}, 300_000);
