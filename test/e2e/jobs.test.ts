// Jobs through the whole service, killed in the middle: they go on at the next start, nothing is done twice, and what they say is what was done.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { askFor, failedBatch, jobOf, statusOf, stoppedHalfWay, takenOnce } from '../support/job-runs.ts';
import { until } from '../support/until.ts';

const count = Number(process.env['E2E_JOB_ITEMS'] ?? '300');
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld(takenOnce());
  service = await startHerald(dataDir, world.environment);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

async function killed(): Promise<void> {
  await service.kill();
  service = await startHerald(dataDir, world.environment);
}

it('a batch sent again, the process killed twice in the middle: each of it once more, though all of it has failed again', async () => {
  const batch = await failedBatch(service, world, count);
  const job = await askFor(service, `/notify/batch/${batch.id}/retry`);
  for (const part of [0.2, 0.6]) {
    await until(() => batch.again() >= count * part, { timeoutMs: 120_000 + 50 * count, what: `${part} of them` });
    await killed();
  }
  expect(await jobOf(service, job, count)).toMatchObject({
    state: 'done',
    total: count,
    done: count,
    skipped: 0,
    failed: 0,
  });
  await statusOf(service, batch.id, 'FAILED', count);
  const rounds = batch.rounds();
  expect(rounds.size).toBe(count);
  expect([...rounds].filter(([, times]) => times !== 2)).toEqual([]);
}, 600_000);

it('what a filter finds is sent again, killed, stopped half-way, killed once more: none twice, the count is what was sent, and another job does the rest', async () => {
  await stoppedHalfWay(() => service, world, count, killed);
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
  await killed();
  expect(await jobOf(service, job, count)).toMatchObject({ state: 'done', done: count, skipped: 0, failed: 0 });
  expect(await cancelled()).toBe(count);
}, 300_000);
