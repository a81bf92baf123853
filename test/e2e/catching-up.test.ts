// Read models that were lost: what they don't hold yet is not answered with half of it, and readiness says how far they are.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Environment, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { readinessOf } from '../support/nodes.ts';
import { statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';

/** Two events each: more than a store is filled with beside its indexes. Within the limit of items of ten seconds. */
const longLog = 5200;
const batches = 2;
const patience = { timeoutMs: 90_000 };

let dataDir: DataDir;
let service: Herald | null = null;

beforeAll(async () => {
  dataDir = await makeDataDir();
});

afterAll(async () => {
  await service?.stop();
  await dataDir.remove();
});

async function restart(args: readonly string[] = [], environment: Environment = {}): Promise<Herald> {
  await service?.stop();
  service = await startHerald(dataDir, environment, args);
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

it('a long log is folded without indexes: killed in between queries are refused, never broken, until every way to find is whole', async () => {
  const first = await restart();
  const requests = Array.from({ length: longLog / batches }, (_, i) => {
    const priority = i % 5 === 0 ? 'BULK' : 'DEFAULT';
    return JSON.stringify({ channel: 'IN_APP', recipient: `reader-${i % 10}`, body: 'kept', priority });
  });
  const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': first.apiKey };
  let batchId = '';
  for (let i = 0; i < batches; i++) {
    const { status, body } = await first.call('POST', '/api/v1/notify/batch', { headers, body: requests.join('\n') });
    expect([status, body['accepted']]).toEqual([202, requests.length]);
    batchId = String(body['batchId']);
  }
  let before = 0;
  await until(async () => {
    const { total, statusCounts } = await statisticsOf(first);
    before = total;
    return total >= longLog && withoutZeros(statusCounts)['DELIVERED'] === total;
  }, patience);
  await first.stop();
  await dataDir.dropReadModels();

  let refused = 0;
  const asked = async (herald: Herald, path: string): Promise<Record<string, unknown> | null> => {
    const { status, body } = await herald.dashboard('GET', path);
    if (status === 503) refused++;
    else expect([path, status]).toEqual([path, 200]);
    return status === 200 ? body : null;
  };
  const paths = [
    '/notifications?limit=1',
    '/notifications?status=DELIVERED&limit=1',
    '/notifications?recipient=reader-3&limit=1',
    `/notifications?batchId=${batchId}&limit=1`,
    '/dashboard/stats?range=all',
  ];
  const killed = await restart();
  for (const path of paths) await asked(killed, path);
  await killed.kill();
  const last = await restart([], { LOG_LEVEL: 'info' });
  await until(async () => {
    const answers = await Promise.all(paths.map((path) => asked(last, path)));
    return answers.every((answer) => answer !== null);
  }, patience);
  expect(refused).toBeGreaterThan(0);

  const found = async (query: string) => {
    const { body } = await last.dashboard('GET', `/notifications?limit=1&${query}`);
    return (body['pagination'] as { total: number }).total;
  };
  expect((await statisticsOf(last)).total).toBe(before);
  expect(await found('status=DELIVERED')).toBe(before);
  expect(await found(`batchId=${batchId}`)).toBe(requests.length);
  expect(await found('recipient=reader-3')).toBeGreaterThanOrEqual(longLog / 10);
  await until(async () => {
    const headersOfInbox = { headers: { 'x-api-key': last.apiKey } };
    const { status, body } = await last.call('GET', '/api/v1/notify/inapp/reader-3?limit=1', headersOfInbox);
    if (status === 200) expect(body['unreadCount']).toBe(longLog / 10);
    return status === 200;
  }, patience);
  await until(
    async () => ((await asked(last, '/notifications?q=kept&limit=1'))?.['data'] as unknown[] | undefined)?.length === 1,
    patience,
  );
  expect(last.logs()).toContain('"indexes made"');
}, 300_000);
