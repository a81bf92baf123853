// A job whose process is killed: another one takes it over once its lease is over, and does what is left of it.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import { askFor, failedBatch, jobOf, statusOf, stoppedHalfWay, takenOnce } from '../../support/job-runs.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { until } from '../../support/until.ts';

const count = Number(process.env['E2E_JOB_ITEMS'] ?? '400');
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let scheduler: Node;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld(takenOnce());
  service = await startHerald(dataDir, world.environment, ['--role', 'api,dispatcher,projector']);
  scheduler = await startNode(dataDir, world.environment, ['--role', 'scheduler']);
}, 180_000);
afterAll(async () => {
  await Promise.all([service, scheduler].map((one) => one.stop()));
  await world.close();
  await dataDir.remove();
}, 60_000);

async function killed(): Promise<void> {
  await scheduler.kill();
  scheduler = await startNode(dataDir, world.environment, ['--role', 'scheduler']);
}

it('is gone on with by another process, each notification once', async () => {
  const batch = await failedBatch(service, world, count);
  const job = await askFor(service, `/notify/batch/${batch.id}/retry`);
  await until(() => batch.again() >= count / 4, { timeoutMs: 120_000 + 50 * count, what: 'a quarter of them' });
  await killed();
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

it('sends again what a filter finds, killed, stopped half-way, killed once more: none twice, and another job does the rest', async () => {
  await stoppedHalfWay(() => service, world, count, killed);
}, 900_000);
