// One tenant floods its BULK to a slow receiver: another tenant's HIGH and BULK, on the flood's partition numbers, don't notice.

import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { createEmbeddedIssuer } from '../../src/adapters/node/issuer.ts';
import type { NotificationId, TenantId } from '../../src/domain/ids.ts';
import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { createPoster, inParallel } from '../support/posting.ts';
import { until } from '../support/until.ts';

/** More than a tenant may hold of its lane, some 2,500 small events over its two numbers. E2E_FLOOD_POSTS=200000 for figures. */
const floodPosts = Number(process.env['E2E_FLOOD_POSTS'] ?? '6000');
/** How long the flood's receiver takes: 5, 2000, 15000 for figures. */
const sinkMs = Number(process.env['E2E_SINK_MS'] ?? '15000');
/** The other's, in turn HIGH and BULK, ten a second. */
const besidePosts = Number(process.env['E2E_BESIDE_POSTS'] ?? '60');
/** On a machine to itself 100 and 1000: one that runs other tests beside this one has pauses of its own. */
const highP99MaxMs = Number(process.env['E2E_HIGH_P99_MS'] ?? '3000');
const bulkP99MaxMs = Number(process.env['E2E_BULK_P99_MS'] ?? '5000');
const besideEveryMs = 100;

interface Tenant {
  readonly url: string;
  readonly id: TenantId;
  readonly apiKey: string;
}

let dataDir: DataDir;
let service: Herald;
let slow: HttpSink;
let fast: HttpSink;
/** When each of the other's arrived, by its body. */
const arrivedAt = new Map<string, number>();

beforeAll(async () => {
  dataDir = await makeDataDir();
  slow = await startHttpSink({ respond: (_, response) => void setTimeout(() => response.end(), sinkMs).unref() });
  fast = await startHttpSink({
    respond({ body }, response) {
      arrivedAt.set((JSON.parse(body) as { data: { body: string } }).data.body, performance.now());
      response.end();
    },
  });
  service = await startHerald(dataDir, { RATE_LIMIT: '1000000/10s', OUTBOUND_ALLOW: '127.0.0.1/32' });
});
afterAll(async () => {
  await service.kill();
  await Promise.all([slow.close(), fast.close()]);
  await dataDir.remove();
});

it("a flood of BULK to a slow receiver, more than a tenant may hold: another's HIGH and BULK on its numbers arrive at once, every one", async () => {
  const [flooding, other] = await twoOnTheSameNumber();
  const poster = createPoster();
  const post = async (tenant: Tenant, notification: object) => {
    const { status, id } = await poster.post(tenant, { channel: 'WEBHOOK', ...notification });
    if (status !== 202 || id === null) throw new Error(`answered ${String(status)}`);
    return numberOf(tenant.id, id as NotificationId);
  };
  const numbers = numbersOf(flooding.id);
  const flood = inParallel(Array.from({ length: floodPosts }), 20, async () => {
    await post(flooding, { recipient: slow.url, priority: 'BULK', body: 'flood' });
  });
  // From the flood's beginning on where it is long; else once all of it waits.
  if (floodPosts <= 10_000) await flood;
  const tookMs = { HIGH: [] as number[], BULK: [] as number[] };
  for (let i = 0; i < besidePosts; i++) {
    const priority = i % 2 === 0 ? 'HIGH' : 'BULK';
    const body = `${priority} ${i}`;
    const since = performance.now();
    const isBeside = numbers.has(await post(other, { recipient: fast.url, priority, body }));
    await until(() => arrivedAt.has(body), { timeoutMs: 20_000, everyMs: 1, what: body });
    if (isBeside) tookMs[priority].push((arrivedAt.get(body) ?? Number.NaN) - since);
    await new Promise((resolve) => setTimeout(resolve, besideEveryMs));
  }
  await flood;
  await poster.close();
  const figures = {
    high: percentile(tookMs.HIGH, 0.99),
    bulk: percentile(tookMs.BULK, 0.99),
    flood: slow.requests.length,
  };
  if (process.env['E2E_FIGURES'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(figures.high).toBeLessThan(highP99MaxMs);
  expect(figures.bulk).toBeLessThan(bulkP99MaxMs);
}, 600_000);

/** Of tenants that are made one after another the first two that share a partition number. */
async function twoOnTheSameNumber(): Promise<readonly [Tenant, Tenant]> {
  const { token } = await createEmbeddedIssuer({
    keyPath: join(dataDir.path, 'issuer-key.json'),
    issuer: 'herald',
    audience: 'herald',
  });
  const tenants: Tenant[] = [];
  for (;;) {
    const bearer = await token({ sub: `tenant-${tenants.length}`, hours: 1 });
    const tenant = await provisioned(bearer);
    const numbers = numbersOf(tenant.id);
    const beside = tenants.find(({ id }) => [...numbersOf(id)].some((number) => numbers.has(number)));
    if (beside !== undefined) return [beside, tenant];
    tenants.push(tenant);
  }
}

async function provisioned(bearer: string): Promise<Tenant> {
  const path = '/api/v1/auth/provision-tenant';
  const { body } = await service.call('POST', path, { headers: { authorization: `Bearer ${bearer}` } });
  const { id, apiKey } = body['tenant'] as { id: string; apiKey: string };
  return { url: service.url, id: id as TenantId, apiKey };
}

function numberOf(tenantId: TenantId, notificationId: NotificationId): number {
  return partitionOf({ tenantId, channel: 'WEBHOOK', recipient: '', notificationId }, defaultPartitioning);
}

/** Wherever a tenant's webhooks can go, found by trying. */
function numbersOf(tenantId: TenantId): ReadonlySet<number> {
  return new Set(Array.from({ length: 100 }, (_, i) => numberOf(tenantId, `notif_${i}` as NotificationId)));
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
