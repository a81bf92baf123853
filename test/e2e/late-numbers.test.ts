// A tenant posts more in-app notifications than are folded at the time, and another shares its partition numbers: what that has posted it reads, in its order,
// while the first one's are still folded.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { createProvisioner, webhookNumbers } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

const batches = 4;
const items = Number(process.env['E2E_LATE_ITEMS'] ?? '10000');

let dataDir: DataDir;
let service: Herald;
let busy: TestTenant;
let other: TestTenant;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir, { ITEM_LIMIT: '1000000/10s', RATE_LIMIT: '10000/10s' });
  const provisioner = await createProvisioner(dataDir, service);
  busy = await provisioner.tenant();
  const numbers = webhookNumbers(busy.id);
  // One in 66, so it takes some 300 at most.
  do other = await provisioner.tenant();
  while (![...webhookNumbers(other.id)].every((number) => numbers.has(number)));
}, 120_000);
afterAll(async () => {
  await service.kill();
  await dataDir.remove();
});

it('what another tenant of the same numbers has posted is read before a flood of in-app items is folded', async () => {
  const ids = await Promise.all(Array.from({ length: batches }, (_, n) => postBatch(n)));
  const accepted = batches * items;
  const posted = await service.notify({ channel: 'IN_APP', recipient: 'ada', body: 'Hello Ada' }, other.apiKey);
  expect(posted.status).toBe(202);
  const id = String(posted.body['notificationId']);
  const call = (path: string, method = 'GET') =>
    service.call(method, `/api/v1${path}`, { headers: { 'x-api-key': other.apiKey } });
  await until(async () => (await call(`/notify/${id}`)).body['notification'] !== undefined, { what: 'its record' });
  await until(async () => (await call('/notify/inapp/ada')).body['unreadCount'] === 1, { what: 'its inbox' });
  // One that is told too late has marked it all the same.
  await until(async () => (await call('/notify/inapp/ada/read', 'POST')).status === 200, { what: 'it to be marked' });
  await until(async () => (await call('/notify/inapp/ada')).body['unreadCount'] === 0, { what: 'it to be read' });

  // In the log all of these are before it.
  expect(sumOf(await countsOf(ids))).toBeLessThan(accepted);
  const isFolded = async () => (await countsOf(ids))['DELIVERED'] === accepted;
  await until(isFolded, { timeoutMs: 240_000, what: 'the flood to be folded' });
  expect((await call('/notify/inapp/ada')).body).toMatchObject({ unreadCount: 0, notifications: [{ read: true }] });
}, 300_000);

/** @returns the batch's id */
async function postBatch(n: number): Promise<string> {
  const notifications = Array.from({ length: items }, (_, i) => ({
    channel: 'IN_APP',
    recipient: `user-${i % 1000}`,
    body: `item ${i} of ${n}`,
  }));
  const { status, body } = await service.call('POST', '/api/v1/notify/batch', {
    body: { notifications },
    headers: { 'x-api-key': busy.apiKey },
  });
  expect(status).toBe(202);
  return String(body['batchId']);
}

/** How many of the batches' records are there, by status. */
async function countsOf(ids: readonly string[]): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const id of ids) {
    const headers = { 'x-api-key': busy.apiKey };
    const { body } = await service.call('GET', `/api/v1/notify/batch/${id}`, { headers });
    for (const [status, count] of Object.entries((body['statusCounts'] ?? {}) as Record<string, number>))
      sums[status] = (sums[status] ?? 0) + count;
  }
  return sums;
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
