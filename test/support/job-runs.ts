// A batch whose notifications all fail, sent again by a job: what arrives, and how the job ends.

import type { DeliveryWorld } from './delivery-world.ts';
import type { Herald } from './herald.ts';
import { until } from './until.ts';

export interface FailedBatch {
  readonly id: string;
  /** Of each notification, how many rounds have arrived: a round that a kill found in flight arrives twice under one id. */
  rounds(): ReadonlyMap<string, number>;
  /** Arrivals of rounds after the first. */
  again(): number;
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
    { timeoutMs: 120_000, everyMs: 50, what: `${count} ${status}` },
  );
}

export async function stop(service: Herald, jobId: string): Promise<Record<string, unknown>> {
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

/** Once it is over. */
export function jobOf(service: Herald, id: string): Promise<Record<string, unknown>> {
  return until(
    async () => {
      const { body } = await service.call('GET', `/api/v1/jobs/${id}`, { headers: { 'x-api-key': service.apiKey } });
      return typeof body['endedAt'] === 'string' && body;
    },
    { timeoutMs: 120_000, everyMs: 50, what: 'the job to be over' },
  );
}
