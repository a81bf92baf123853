// A batch through the whole service: every item arrives, its counts are those of its records, and they are the same folded anew.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';

const items = 500;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) =>
    response.writeHead(request.path.endsWith('7') ? 410 : 200).end(),
  );
  service = await startHerald(dataDir, world.environment);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

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
  service = await startHerald(dataDir, world.environment);
  expect(await ended()).toEqual(shown);
}, 240_000);
