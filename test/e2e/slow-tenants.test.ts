// Five tenants whose receivers are slow, with more BULK and DEFAULT than is read ahead: a sixth's HIGH doesn't notice.

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

/** Of each slow tenant and lane, 20 KB each: 12 MB in all. */
const slowPosts = Number(process.env['E2E_SLOW_POSTS'] ?? '60');
/** Measured one after another; on a machine to itself E2E_FAST_POSTS=1000 E2E_P99_MS=100. */
const fastPosts = Number(process.env['E2E_FAST_POSTS'] ?? '60');
/** A machine that runs other tests beside this one has pauses of its own. */
const p99MaxMs = Number(process.env['E2E_P99_MS'] ?? Infinity);
/** Under the deadline of an attempt, 15 s. */
const slowMs = 14_000;

interface Tenant {
  readonly url: string;
  readonly apiKey: string;
  readonly numbers: readonly number[];
}

let dataDir: DataDir;
let service: Herald;
let slow: HttpSink;
let fast: HttpSink;

beforeAll(async () => {
  dataDir = await makeDataDir();
  slow = await startHttpSink({ respond: (_, response) => void setTimeout(() => response.end(), slowMs).unref() });
  fast = await startHttpSink();
  service = await startHerald(dataDir, { RATE_LIMIT: '100000/10s', OUTBOUND_ALLOW: '127.0.0.1/32' });
});
afterAll(async () => {
  await service.kill();
  await Promise.all([slow.close(), fast.close()]);
  await dataDir.remove();
});

it("five slow tenants' BULK and DEFAULT, more than is read ahead: a sixth's HIGH on other numbers arrives at once, every one", async () => {
  const { slowOnes, fastOne } = await sixTenants();
  const poster = createPoster();
  const post = async (tenant: Tenant, notification: object) => {
    const { status } = await poster.post(tenant, { channel: 'WEBHOOK', ...notification });
    if (status !== 202) throw new Error(`answered ${String(status)}`);
  };
  const body = 'x'.repeat(20_000);
  const flood = Array.from({ length: slowPosts }, () =>
    slowOnes.flatMap((tenant) => ['BULK', 'DEFAULT'].map((priority) => ({ tenant, priority }))),
  ).flat();
  await inParallel(flood, 20, ({ tenant, priority }) => post(tenant, { recipient: slow.url, priority, body }));
  await until(() => slow.open() >= 60, { timeoutMs: 60_000, what: 'attempts that hang' });

  const tookMs: number[] = [];
  for (let i = 1; i <= fastPosts; i++) {
    const since = performance.now();
    await post(fastOne, { recipient: fast.url, priority: 'HIGH', body: `code ${i}` });
    await until(() => fast.requests.length === i, { timeoutMs: 60_000, everyMs: 1, what: `HIGH number ${i}` });
    tookMs.push(performance.now() - since);
  }
  await poster.close();
  expect(percentile(tookMs, 0.99)).toBeLessThan(p99MaxMs);
}, 300_000);

/** Five, and one that shares no partition number with any of them. */
async function sixTenants(): Promise<{ slowOnes: readonly Tenant[]; fastOne: Tenant }> {
  const { token } = await createEmbeddedIssuer({
    keyPath: join(dataDir.path, 'issuer-key.json'),
    issuer: 'herald',
    audience: 'herald',
  });
  const tenants: Tenant[] = [];
  for (;;) {
    const bearer = await token({ sub: `tenant-${tenants.length}`, hours: 1 });
    tenants.push(await provisioned(bearer));
    for (const fastOne of tenants) {
      const slowOnes = tenants
        .filter(({ numbers }) => !numbers.some((number) => fastOne.numbers.includes(number)))
        .slice(0, 5);
      if (slowOnes.length === 5) return { slowOnes, fastOne };
    }
  }
}

async function provisioned(bearer: string): Promise<Tenant> {
  const path = '/api/v1/auth/provision-tenant';
  const { body } = await service.call('POST', path, { headers: { authorization: `Bearer ${bearer}` } });
  const { id, apiKey } = body['tenant'] as { id: string; apiKey: string };
  return { url: service.url, apiKey, numbers: numbersOf(id as TenantId) };
}

/** Wherever a tenant's webhooks can go, found by trying. */
function numbersOf(tenantId: TenantId): readonly number[] {
  const ids = Array.from({ length: 100 }, (_, i) => `notif_${i}` as NotificationId);
  const place = { tenantId, channel: 'WEBHOOK', recipient: '' } as const;
  return ids.map((notificationId) => partitionOf({ ...place, notificationId }, defaultPartitioning));
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
