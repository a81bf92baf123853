// A batch whose notifications all fail, sent again by a job: what arrives, and how the job ends.

import { expect } from '@jest/globals';

import type { DeliveryWorld, startDeliveryWorld } from './delivery-world.ts';
import type { Herald } from './herald.ts';
import { until } from './until.ts';

/** How long `count` of them may take on a machine with much else to do: two minutes, and 50 ms more for each. */
const limitOf = (count: number) => 120_000 + 50 * count;

export interface FailedBatch {
  readonly id: string;
  /** Of each notification, how many rounds have arrived: a round that a kill found in flight arrives twice under one id. */
  rounds(): ReadonlyMap<string, number>;
  /** Arrivals of rounds after the first. */
  again(): number;
}

/** Nothing that is sent there is ever taken, but for what goes to /once: that is refused the first time. */
export function takenOnce(): NonNullable<Parameters<typeof startDeliveryWorld>[0]> {
  const seen = new Map<string, string>();
  return ({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    const isFirst = (seen.get(path) ?? id) === id;
    seen.set(path, seen.get(path) ?? id);
    response.writeHead(path.startsWith('/once/') && !isFirst ? 200 : 410).end();
  };
}

/** Resolves once all of them are FAILED. */
export async function failedBatch(
  service: Herald,
  world: DeliveryWorld,
  count: number,
  folder = '',
): Promise<FailedBatch> {
  const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/x-ndjson' };
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ channel: 'WEBHOOK', recipient: `${world.webhooks.url}${folder}/${i}`, body: `item ${i}` }),
  );
  const { body } = await service.call('POST', '/api/v1/notify/batch', { headers, body: lines.join('\n') });
  const id = String(body['batchId']);
  await statusOf(service, id, 'FAILED', count);
  const rounds = () => {
    const ids = new Map<string, Set<string>>();
    for (const { path, headers: sent } of world.webhooks.requests)
      if (path.startsWith(`${folder}/`)) ids.set(path, (ids.get(path) ?? new Set()).add(String(sent['webhook-id'])));
    return new Map([...ids].map(([path, of]) => [path, of.size]));
  };
  return { id, rounds, again: () => [...rounds().values()].reduce((sum, of) => sum + of - 1, 0) };
}

export async function statusOf(service: Herald, batchId: string, status: string, count: number): Promise<void> {
  const path = `/api/v1/notify/batch/${batchId}`;
  await until(
    async () => {
      const { body } = await service.call('GET', path, { headers: { 'x-api-key': service.apiKey } });
      return ((body['statusCounts'] ?? {}) as Record<string, number>)[status] === count;
    },
    { timeoutMs: limitOf(count), what: `${count} ${status}` },
  );
}

async function stop(service: Herald, jobId: string): Promise<Record<string, unknown>> {
  const headers = { 'x-api-key': service.apiKey };
  const { status, body } = await service.call('DELETE', `/api/v1/jobs/${jobId}`, { headers });
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
}

export async function askFor(service: Herald, path: string): Promise<string> {
  const { status, body } = await service.call('POST', `/api/v1${path}`, { headers: { 'x-api-key': service.apiKey } });
  if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return String(body['jobId']);
}

/** Once it is over; `count` is what it may have to do. */
export function jobOf(service: Herald, id: string, count = 0): Promise<Record<string, unknown>> {
  return until(
    async () => {
      const { body } = await service.call('GET', `/api/v1/jobs/${id}`, { headers: { 'x-api-key': service.apiKey } });
      return typeof body['endedAt'] === 'string' && body;
    },
    { timeoutMs: limitOf(count), what: 'the job to be over' },
  );
}

/**
 * What a filter finds is sent again at 500 a second at most, killed, stopped half-way, killed once more: none twice, what the job says is what was
 * sent, and another job does the rest. What goes to /once has to be refused the first time, and taken then.
 *
 * @param killed  kills the process that runs jobs and starts it again
 */
export async function stoppedHalfWay(
  service: () => Herald,
  world: DeliveryWorld,
  count: number,
  killed: () => Promise<void>,
): Promise<void> {
  const batch = await failedBatch(service(), world, count, '/once');
  const ask = async (dryRun: boolean) => {
    const asked = { filter: { batchId: batch.id }, ratePerSecond: Math.min(500, Math.ceil(count / 5)), dryRun };
    const { status, body } = await service().dashboard('POST', '/notifications/retry', asked);
    expect(status).toBe(202);
    return body;
  };
  const { jobId, matching } = await ask(false);
  expect(matching).toBe(count);
  const timeoutMs = limitOf(count);
  await until(() => batch.again() >= count * 0.1, { timeoutMs, everyMs: 50, what: 'a tenth of them' });
  await killed();
  // By what the job says: deliveries may come long after.
  const path = `/api/v1/jobs/${String(jobId)}`;
  const said = async () => {
    const { body } = await service().call('GET', path, { headers: { 'x-api-key': service().apiKey } });
    return Number(body['done']);
  };
  await until(async () => (await said()) >= count * 0.4, { timeoutMs, what: 'the job to be half-way' });
  await stop(service(), String(jobId));
  const stopped = await jobOf(service(), String(jobId));
  const done = Number(stopped['done']);
  await killed();
  expect(await jobOf(service(), String(jobId))).toEqual(stopped);
  await statusOf(service(), batch.id, 'DELIVERED', done);
  expect(batch.again()).toBe(done);
  expect((await ask(true))['matching']).toBe(count - done);
  const rest = await jobOf(service(), String((await ask(false))['jobId']), count);
  expect(rest).toMatchObject({ state: 'done', total: count - done, done: count - done, skipped: 0 });
  await statusOf(service(), batch.id, 'DELIVERED', count);
  expect([...batch.rounds()].filter(([, times]) => times !== 2)).toEqual([]);
  console.log(`${count}: stopped after ${done}, ${String(stopped['state'])}`);
}
