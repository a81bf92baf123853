// A batch through the whole service: every item arrives, its counts are those of its records, and they are the same folded anew. Many of them, large ones, a
// million items in all, none of which is refused for load; it says how long they took, and the memory that they took at most:
//
//   E2E_FIGURES=1 E2E_BATCHES=100 E2E_BATCH_ITEMS=10000 E2E_BATCHES_AT_ONCE=100 npm test -- test/e2e/batch     and with `npm run test:real --`

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import { engineSet } from '../support/engine-set.ts';
import type { Answer, DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { inParallel } from '../support/posting.ts';
import { until } from '../support/until.ts';

const items = 500;
const batches = Number(process.env['E2E_BATCHES'] ?? '8');
const itemsOfOne = Number(process.env['E2E_BATCH_ITEMS'] ?? (engineSet === 'real' ? '1000' : '2500'));
/** By which memory may grow over them all, in a process that has just started; of one batch it is 64 (E2E_BATCHES=1). Beside real engines 329 where heaps grow as V8 likes. */
const growthMaxMiB = Number(process.env['E2E_BATCH_MIB'] ?? '192');
/** Twice as many as are taken in at once of one tenant: the others wait for their turn. */
const batchesAtOnce = Number(process.env['E2E_BATCHES_AT_ONCE'] ?? '8');
const wantsFigures = process.env['E2E_FIGURES'] !== undefined;
/** 120,000 were delivered and folded in 150 s beside other tests. */
const endWithinMs = 120_000 + batches * itemsOfOne * 5;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) =>
    response.writeHead(request.path.endsWith('7') ? 410 : 200).end(),
  );
  service = await startHerald(dataDir, environment());
}, 120_000);
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

const environment = () => ({ ...world.environment, ITEM_LIMIT: '100000000/10s' });

it('every item is sent, and the batch says how each ended, after a kill too', async () => {
  const lines = Array.from({ length: items }, (_, i) =>
    JSON.stringify({ channel: 'WEBHOOK', recipient: `${world.webhooks.url}/${i}`, body: `item ${i}` }),
  );
  const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/x-ndjson' };
  const answer = await service.call('POST', '/api/v1/notify/batch', { headers, body: `${lines.join('\n')}\n{"no":1}` });
  expect([answer.status, answer.body['accepted'], answer.body['rejected']]).toEqual([202, items, 1]);
  const path = `/api/v1/notify/batch/${String(answer.body['batchId'])}`;
  const ended = () =>
    until(
      async () => {
        const { status, body } = await service.call('GET', path, { headers: { 'x-api-key': service.apiKey } });
        const counts = (body['statusCounts'] ?? {}) as Record<string, number>;
        return status === 200 && (counts['DELIVERED'] ?? 0) + (counts['FAILED'] ?? 0) === items && body;
      },
      { timeoutMs: 60_000, what: 'every item to have ended' },
    );
  const shown = await ended();
  expect(shown).toMatchObject({
    accepted: items,
    rejected: 1,
    statusCounts: { QUEUED: 0, DELIVERED: (items * 9) / 10, FAILED: items / 10 },
  });
  expect(new Set(world.webhooks.requests.map((request) => request.path)).size).toBe(items);
  await service.kill();
  service = await startHerald(dataDir, environment());
  expect(await ended()).toEqual(shown);
}, 240_000);

it(`${batches} batches of ${itemsOfOne} items, ${batchesAtOnce} at once, are accepted whole, memory doesn't grow with them, and each batch and the statistics count every item`, async () => {
  const before = await residentMiB();
  let most = before;
  const done = new AbortController();
  const watching = (async () => {
    while (!done.signal.aborted) {
      most = Math.max(most, await residentMiB());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const since = performance.now();
  const ids = new Set<unknown>();
  const paths: string[] = [];
  await inParallel(Array.from({ length: batches }), batchesAtOnce, async (_, batch) => {
    const lines = Array.from({ length: itemsOfOne }, (_, i) =>
      JSON.stringify({ channel: 'IN_APP', recipient: `user-${i % 1000}`, body: `item ${i} of ${batch}` }),
    );
    const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/x-ndjson' };
    const { status, body } = await service.call('POST', '/api/v1/notify/batch', { headers, body: lines.join('\n') });
    expect([status, body['accepted'], body['rejected']]).toEqual([202, itemsOfOne, 0]);
    for (const { notificationId } of body['results'] as { notificationId: string }[]) ids.add(notificationId);
    paths.push(`/api/v1/notify/batch/${String(body['batchId'])}`);
  });
  done.abort();
  await watching;
  expect(ids.size).toBe(batches * itemsOfOne);
  const acceptedSeconds = (performance.now() - since) / 1000;
  expect(most - before).toBeLessThan(growthMaxMiB);
  const statistics = () => service.dashboard('GET', '/dashboard/stats?range=all&channel=IN_APP');
  await until(async () => delivered(await statistics()) >= batches * itemsOfOne, {
    timeoutMs: endWithinMs,
    everyMs: 500,
    what: 'every item to be delivered',
  });
  const endedSeconds = (performance.now() - since) / 1000;
  const headers = { 'x-api-key': service.apiKey };
  for (const path of paths) {
    const { body } = await service.call('GET', path, { headers });
    expect(body).toMatchObject({ accepted: itemsOfOne, rejected: 0, statusCounts: onlyDelivered(itemsOfOne) });
  }
  const { body: counted } = await statistics();
  expect(counted).toMatchObject({ total: ids.size, statusCounts: onlyDelivered(ids.size) });
  const figures = { items: ids.size, acceptedSeconds, endedSeconds, beforeMiB: before, mostMiB: most };
  if (wantsFigures) process.stderr.write(`${JSON.stringify(figures)}\n`);
}, 3_600_000);

it('a stop in the midst of many: each sender is told what of his was accepted, and so much is there after the next start', async () => {
  const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/x-ndjson' };
  const line = JSON.stringify({ channel: 'IN_APP', recipient: 'stopped', body: 'x'.repeat(500) });
  const body = `${line}\n`.repeat(5000);
  const counted = async () =>
    Number((await service.dashboard('GET', '/dashboard/stats?range=all&channel=IN_APP')).body['total']);
  const before = await counted();
  const answers = Promise.all(
    Array.from({ length: 12 }, () => service.call('POST', '/api/v1/notify/batch', { headers, body })),
  );
  await until(async () => (await metric('herald_batches_waiting')) > 0, {
    everyMs: 1,
    what: 'some to wait for others',
  });
  await service.stop();
  const told = await answers;
  const accepted = told.filter(({ status }) => status === 202).map((answer) => answer.body);
  const refused = told.filter(({ status }) => status === 503);
  expect(accepted.length + refused.length).toBe(told.length);
  expect(refused.length).toBeGreaterThan(0);
  service = await startHerald(dataDir, environment());
  for (const { batchId, accepted: count } of accepted) {
    await until(
      async () => {
        const shown = await service.call('GET', `/api/v1/notify/batch/${String(batchId)}`, {
          headers: { 'x-api-key': service.apiKey },
        });
        return shown.status === 200 && sum(shown.body['statusCounts']) === count;
      },
      { timeoutMs: 60_000, what: `the ${String(count)} that were accepted` },
    );
  }
  expect(await counted()).toBe(before + sum(accepted.map((one) => one['accepted'])));
}, 240_000);

function sum(counts: unknown): number {
  return Object.values(counts as Record<string, number>).reduce((total, count) => total + count, 0);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
}

function delivered({ body }: Answer): number {
  return (body['statusCounts'] as Record<string, number>)['DELIVERED'] ?? 0;
}

function onlyDelivered(count: number): Readonly<Record<string, number>> {
  const none = { QUEUED: 0, SCHEDULED: 0, PROCESSING: 0, RETRYING: 0, FAILED: 0, CANCELLED: 0 };
  return { ...none, DELIVERED: count };
}

async function residentMiB(): Promise<number> {
  return Math.round((await metric('process_resident_memory_bytes')) / 2 ** 20);
}
