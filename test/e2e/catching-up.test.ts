// Read models that were lost: what they don't hold yet is not answered with half of it, and readiness says how far they are.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { readinessOf } from '../support/nodes.ts';
import { statisticsOf } from '../support/records.ts';
import { until } from '../support/until.ts';

let dataDir: DataDir;
let service: Herald | null = null;

beforeAll(async () => {
  dataDir = await makeDataDir();
});

afterAll(async () => {
  await service?.stop();
  await dataDir.remove();
});

async function restart(args: readonly string[] = []): Promise<Herald> {
  await service?.stop();
  service = await startHerald(dataDir, {}, args);
  return service;
}

async function send(herald: Herald): Promise<string> {
  const { status, body } = await herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'hi' });
  expect(status).toBe(202);
  return String(body['notificationId']);
}

async function isDelivered(herald: Herald, count: number): Promise<boolean> {
  const { statusCounts } = await statisticsOf(herald);
  return (statusCounts as Record<string, number>)['DELIVERED'] === count;
}

it('queries get 503 with the progress until all is folded again, accepting goes on, and lag is no reason for either', async () => {
  const first = await restart();
  const id = await send(first);
  for (let i = 1; i < 10; i++) await send(first);
  await until(() => isDelivered(first, 10));
  await first.stop();
  await dataDir.dropReadModels();

  // Nobody folds: so it stays as it is.
  const half = await restart(['--role', 'api']);
  // Twenty of the notifications, and what the settings' topic has.
  const progress = /is folded from the log's beginning: 0 of 2\d events/;
  await until(async () => (await readinessOf(half.operationsUrl))?.status === 'not ready');
  expect(await readinessOf(half.operationsUrl)).toMatchObject({
    dependencies: { readModels: expect.stringMatching(progress), log: 'up', progress: 'up' },
  });
  for (const path of ['/dashboard/stats?range=all', `/notifications/${id}`, '/notifications']) {
    const { status, body, headers } = await half.dashboard('GET', path);
    expect([path, status, body['code']]).toEqual([path, 503, 'SERVICE_UNAVAILABLE']);
    expect(body['error']).toMatch(progress);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  await send(half);

  const whole = await restart();
  await until(async () => {
    const { status, body } = await whole.dashboard('GET', '/dashboard/stats?range=all');
    // Never a part of it.
    if (status === 200) expect(body['total']).toBeGreaterThanOrEqual(10);
    return status === 200;
  });
  await until(() => isDelivered(whole, 11));
  await until(async () => (await readinessOf(whole.operationsUrl))?.status === 'ready');

  // Again nobody folds, but it is lag now.
  const lagging = await restart(['--role', 'api']);
  await send(lagging);
  expect((await statisticsOf(lagging))['total']).toBe(11);
  expect((await readinessOf(lagging.operationsUrl))?.status).toBe('ready');
});
