// Equal backlogs end together, one of weight 3 gets three shares, and lanes share 70 : 25 : 5: counted at the receiver, when the first of them ends.
//
//   E2E_FIGURES=1 E2E_SHARES_TENANTS=50 E2E_SHARES_POSTS=2000 E2E_SHARES_WITHIN=0.1 E2E_LANES_POSTS=20000 E2E_LANES_WITHIN=0.05 npm test -- test/e2e/shares

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';

import { laneWeights } from '../../src/dispatchers/lanes.ts';
import { priorities } from '../../src/domain/events.ts';
import type { Priority } from '../../src/domain/events.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { createPoster, endlessLimits, inParallel } from '../support/posting.ts';
import { createProvisioner } from '../support/provisioning.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

const tenantsCount = Number(process.env['E2E_SHARES_TENANTS'] ?? '8');
const postsEach = Number(process.env['E2E_SHARES_POSTS'] ?? '300');
/** A few events are no large sample, and who is read first begins some before the others are there. */
const sharesWithin = Number(process.env['E2E_SHARES_WITHIN'] ?? '0.4');
const lanesPosts = Number(process.env['E2E_LANES_POSTS'] ?? '2000');
const lanesWithin = Number(process.env['E2E_LANES_WITHIN'] ?? '0.3');
/** Slow enough that all slots are taken. */
const sinkMs = 250;
const arriveWithinMs = 120_000 + (tenantsCount * postsEach + lanesPosts) * 50;
const settings = { ...endlessLimits, OUTBOUND_ALLOW: '127.0.0.1/32' };
/** Of one tenant, one after another in the log. */
const togetherMax = 25;

let dataDir: DataDir;
let service: Herald;
let sink: HttpSink;
/** The paths of what has arrived, in their order. */
const arrived: string[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir();
  sink = await startHttpSink({
    respond({ path }, response) {
      sink.requests.length = 0;
      arrived.push(path);
      setTimeout(() => response.end(), sinkMs);
    },
  });
}, 60_000);
beforeEach(async () => {
  arrived.length = 0;
  service = await startHerald(dataDir, settings, ['--role', 'api,projector,scheduler']);
}, 120_000);
afterEach(() => service.stop(), 60_000);
afterAll(async () => {
  await sink.close();
  await dataDir.remove();
}, 60_000);

it(
  'tenants of equal weight and backlog end together, and one of weight 3 beside them has three shares until it ends',
  async () => {
    const provisioner = await createProvisioner(dataDir, service);
    const tenants: TestTenant[] = [];
    for (let i = 0; i < tenantsCount; i++) tenants.push(await provisioner.tenant());
    const [heavy] = tenants;
    const set = ['tenants', 'set', heavy?.id ?? '', '--weight', '3', '--in-flight', '64'];
    expect((await command(set, dataDir.environment)).code).toBe(0);
    await post(tenants.map((tenant, i) => ({ tenant, priority: 'BULK', path: `/${i}`, count: postsEach })));
    await dispatch();
    await until(() => arrived.length === tenantsCount * postsEach, { timeoutMs: arriveWithinMs, everyMs: 100 });

    const byTenant = (paths: readonly string[]) => tenants.map((_, i) => countOf(paths, `/${i}`));
    const [, ...besideHeavy] = byTenant(arrived.slice(0, arrived.lastIndexOf('/0') + 1));
    const shares = besideHeavy.map((count) => postsEach / count);
    const firstEnd = Math.min(...tenants.slice(1).map((_, i) => arrived.lastIndexOf(`/${i + 1}`)));
    const [, ...atFirstEnd] = byTenant(arrived.slice(0, firstEnd + 1));
    tell({ heavyToOthers: mean(shares), othersAtFirstEnd: Math.min(...atFirstEnd) / postsEach });
    expect(Math.abs(mean(shares) / 3 - 1)).toBeLessThan(sharesWithin);
    expect(Math.min(...atFirstEnd) / postsEach).toBeGreaterThan(1 - sharesWithin);
  },
  2 * arriveWithinMs,
);

it(
  'lanes that all have work share 70 : 25 : 5 until the first of them ends',
  async () => {
    const provisioner = await createProvisioner(dataDir, service);
    const tenants: TestTenant[] = [];
    for (let i = 0; i < 8; i++) tenants.push(await provisioner.tenant());
    const backlogs = priorities.flatMap((priority) => {
      const count = Math.ceil((lanesPosts * laneWeights[priority]) / 100 / tenants.length);
      return tenants.map((tenant) => ({ tenant, priority, path: `/${priority}`, count }));
    });
    await post(backlogs);
    await dispatch();
    const posted = backlogs.reduce((sum, { count }) => sum + count, 0);
    await until(() => arrived.length === posted, { timeoutMs: arriveWithinMs, everyMs: 100 });

    const firstEnd = Math.min(...priorities.map((priority) => arrived.lastIndexOf(`/${priority}`)));
    const seen = arrived.slice(0, firstEnd + 1);
    const shares = priorities.map((priority) => (countOf(seen, `/${priority}`) / seen.length) * 100);
    tell({ lanes: shares });
    for (const [i, priority] of priorities.entries()) {
      expect(Math.abs((shares[i] ?? 0) / laneWeights[priority] - 1)).toBeLessThan(lanesWithin);
    }
  },
  2 * arriveWithinMs,
);

interface Backlog {
  readonly tenant: TestTenant;
  readonly priority: Priority;
  readonly path: string;
  readonly count: number;
}

/** In the log they stand beside one another, some of each at a time. */
async function post(backlogs: readonly Backlog[]): Promise<void> {
  const poster = createPoster();
  for (let posted = 0; backlogs.some(({ count }) => count > posted); posted += togetherMax)
    await inParallel(backlogs, 4, async ({ tenant: { apiKey }, priority, path, count }) => {
      const notification = { channel: 'WEBHOOK', recipient: `${sink.url}${path}`, priority, body: 'backlog' };
      await poster.postMany({ url: service.url, apiKey }, notification, Math.min(togetherMax, count - posted));
    });
  await poster.close();
}

/** Nobody has dispatched so far: all that waits is there when it begins. */
async function dispatch(): Promise<void> {
  await service.stop();
  service = await startHerald(dataDir, settings);
}

function countOf(paths: readonly string[], wanted: string): number {
  return paths.filter((path) => path === wanted).length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

function tell(figures: object): void {
  if (process.env['E2E_FIGURES'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
}
