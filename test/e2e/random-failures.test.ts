// Receivers that fail at random, and processes killed at random: each 202 has one ending, was seen by its receiver, and nothing is left to reconcile.
//
//   E2E_FIGURES=1 E2E_RANDOM_POSTS=100000 E2E_RANDOM_PER_SECOND=200 E2E_KILL_EVERY_MS=5000 npm test -- test/e2e/random-failures     some ten minutes
//   the same with `npm run test:real --`: two processes of all roles, on Kafka, MongoDB and Redis
//   E2E_RANDOM_SEED=42                                                                                                         the same chances again

import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { priorities } from '../../src/domain/events.ts';
import { createRandom } from '../chaos/random.ts';
import { deliveriesOf } from '../support/delivery-log.ts';
import { engineSet } from '../support/engine-set.ts';
import { freePorts } from '../support/free-ports.ts';
import type { Answer, DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { createPoster } from '../support/posting.ts';
import { createProvisioner } from '../support/provisioning.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';

const posts = Number(process.env['E2E_RANDOM_POSTS'] ?? '400');
const perSecond = Number(process.env['E2E_RANDOM_PER_SECOND'] ?? '50');
const killEveryMs = Number(process.env['E2E_KILL_EVERY_MS'] ?? '2500');
const seed = Number(process.env['E2E_RANDOM_SEED'] ?? String(Date.now() % 1_000_000));
const processesCount = engineSet === 'embedded' ? 1 : 2;
const tenantsCount = 8;
const deadlineMs = 2_000;
/** Eight attempts: at 24 % that fail one in 90,000 ends FAILED. */
const retryDelays = '1s,1s,1s,2s,2s,2s,3s';
/** After the last kill: sessions of 10 s, the longest row of retries, and what hasn't been sent yet at some 50 a second. */
const endsWithinMs = 180_000 + posts * 20;
/** Under way at once, so that a process that doesn't answer stops nothing. */
const openPostsMax = 50;
const final = new Set(['DELIVERED', 'FAILED']);

type Answering = 'taken' | 'slow' | '500' | '429' | 'reset' | 'hang';
/** 30 of a hundred calls; what is slow is taken. */
const answerings: readonly Answering[] = [
  ...Array.from({ length: 70 }, () => 'taken' as const),
  ...(['slow', '500', '429', 'reset', 'hang'] as const).flatMap((one) => Array.from({ length: 6 }, () => one)),
];

const chance = createRandom(seed);
const calls: Record<Answering, number> = { taken: 0, slow: 0, '500': 0, '429': 0, reset: 0, hang: 0 };
/** How often each was seen, by its number. */
const seen = new Map<number, number>();
/** Number by id, of what was answered with 202. */
const accepted = new Map<string, number>();
const processes: { readonly port: number; service: Herald | null }[] = [];
let dataDir: DataDir;
let sink: HttpSink;
let tenants: TestTenant[];
let kills = 0;
const killedAt: string[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir();
  sink = await startHttpSink({
    respond({ path }, response) {
      sink.requests.length = 0;
      const n = Number(path.split('/').at(-1));
      seen.set(n, (seen.get(n) ?? 0) + 1);
      answer(response);
    },
  });
  const first = await freePorts(2 * processesCount);
  for (let i = 0; i < processesCount; i++) processes.push({ port: first + 2 * i, service: null });
  await startMissing();
  const provisioner = await createProvisioner(dataDir, anyService());
  tenants = [];
  for (let i = 0; i < tenantsCount; i++) tenants.push(await provisioner.tenant());
}, 180_000);

afterAll(async () => {
  await Promise.all(running().map((service) => service.kill()));
  await sink.close();
  await dataDir.remove();
}, 60_000);

it(
  `each of ${posts} that were accepted has one ending, whatever fails and whoever is killed, and was seen at least once`,
  async () => {
    const isPosted = new AbortController();
    const killing = killNowAndThen(isPosted.signal);
    await postAll();
    isPosted.abort();
    await killing;
    await startMissing();
    const records = await until(endedRecords, { timeoutMs: endsWithinMs, everyMs: 1_000, what: 'an ending for each' });
    tell({ seed, accepted: accepted.size, kills, calls, endings: groupedBy(records, 'status') });

    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    const statuses = new Map(records.map(({ id, status }) => [id, status]));
    expect([...accepted.keys()].filter((id) => !final.has(statuses.get(id) ?? ''))).toEqual([]);
    expect([...accepted.values()].filter((n) => !seen.has(n))).toEqual([]);
    for (const tenant of tenants) {
      const statistics = await statisticsOf(owner(tenant));
      expect(withoutZeros(statistics.statusCounts)).toEqual(groupedBy(await allRecords(owner(tenant)), 'status'));
    }
    for (const { service } of processes) expect(await service?.stop()).toBe(0);
    const { code, stdout } = await command(['reconcile', '--older-than', '0'], dataDir.environment);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^all +(\d+) +\1 +0 +0 +0$/m) });
    await expectOneEnding(statuses);
  },
  endsWithinMs + (posts / perSecond) * 4_000 + 300_000,
);

interface Ending {
  readonly status: 'DELIVERED' | 'FAILED';
  /** How it came about, for whoever looks into a second one. */
  readonly event: string;
}

/** What the log says: of each notification an ending, and no second one that says another thing. */
async function expectOneEnding(statuses: ReadonlyMap<string, string>): Promise<void> {
  const endings = new Map<string, Ending[]>();
  for await (const event of deliveriesOf(dataDir)) {
    if (event.type !== 'AttemptSucceeded' && event.type !== 'AttemptFailed') continue;
    if (event.type === 'AttemptFailed' && event.retryAt !== null) continue;
    const { notificationId, attempt, eventId, causeId, occurredAt, priority, partition } = event;
    const told = `#${attempt} ${eventId} of ${causeId}, ${new Date(occurredAt).toISOString()}, ${priority}/${partition}`;
    const ending: Ending = { status: event.type === 'AttemptSucceeded' ? 'DELIVERED' : 'FAILED', event: told };
    endings.set(notificationId, [...(endings.get(notificationId) ?? []), ending]);
  }
  for (const [id, status] of statuses)
    expect([id, ...new Set(endings.get(id)?.map((ending) => ending.status))]).toEqual([id, status]);
  const repeated = [...endings].filter(([, said]) => said.length > 1);
  tell({ saidTwice: repeated.length, killedAt });
  // In a cluster one that had no processor for a session may say what its successor says as well.
  if (engineSet === 'embedded') expect(repeated).toEqual([]);
}

function answer(response: ServerResponse): void {
  const how = chance.of(answerings);
  calls[how]++;
  if (how === 'taken') response.end();
  else if (how === 'slow') setTimeout(() => response.end(), deadlineMs / 2).unref();
  else if (how === '500') response.writeHead(500).end();
  else if (how === '429') response.writeHead(429, { 'retry-after': '1' }).end();
  else if (how === 'reset') response.destroy();
}

async function postAll(): Promise<void> {
  const poster = createPoster({ timeoutMs: 10_000 });
  const open = new Set<Promise<void>>();
  const startedAt = Date.now();
  const post = async (n: number, service: Herald) => {
    const { apiKey } = chance.of(tenants);
    const { id } = await poster.post(
      { url: service.url, apiKey },
      { channel: 'WEBHOOK', recipient: `${sink.url}/${n}`, priority: chance.of(priorities), body: `order ${n}` },
    );
    if (id !== null) accepted.set(id, n);
  };
  for (let n = 0; accepted.size < posts; n++) {
    const dueMs = startedAt + (n / perSecond) * 1000 - Date.now();
    if (dueMs > 20) await sleep(dueMs);
    const service = await until(() => running()[n % Math.max(1, running().length)], { timeoutMs: 120_000 });
    const one: Promise<void> = post(n, service).finally(() => open.delete(one));
    open.add(one);
    if (open.size >= openPostsMax) await Promise.race(open);
  }
  await Promise.all(open);
  await poster.close();
}

/** Whichever is ready, at random; it is started again at once. */
async function killNowAndThen(over: AbortSignal): Promise<void> {
  const restarts = new Set<Promise<void>>();
  while (!over.aborted) {
    await sleep(killEveryMs, undefined, { signal: over }).catch(() => undefined);
    const ready = processes.filter(({ service }) => service !== null);
    if (over.aborted || ready.length === 0) continue;
    const one = chance.of(ready);
    const { service } = one;
    one.service = null;
    kills++;
    killedAt.push(new Date().toISOString());
    await service?.kill();
    const restart: Promise<void> = start(one).finally(() => restarts.delete(restart));
    restarts.add(restart);
    if (processesCount === 1) await restart;
  }
  await Promise.all(restarts);
}

async function startMissing(): Promise<void> {
  for (const one of processes) if (one.service === null) await start(one);
}

async function start(one: (typeof processes)[number]): Promise<void> {
  one.service = await startHerald(dataDir, {
    PORT: String(one.port),
    OPS_PORT: String(one.port + 1),
    OUTBOUND_ALLOW: '127.0.0.1/32',
    RATE_LIMIT: '1000000/10s',
    ATTEMPT_DEADLINE: `${deadlineMs}ms`,
    RETRY_DELAYS: retryDelays,
  });
}

const running = (): Herald[] => processes.flatMap(({ service }) => service ?? []);

function anyService(): Herald {
  const [service] = running();
  if (service === undefined) throw new Error('no process runs');
  return service;
}

function owner({ bearer }: TestTenant): Pick<Herald, 'dashboard'> {
  const headers = { authorization: `Bearer ${bearer}` };
  return { dashboard: (method, path): Promise<Answer> => anyService().call(method, `/api/v1${path}`, { headers }) };
}

/** All records, once none of them waits; the statistics are asked first, since they cost little. */
async function endedRecords() {
  let total = 0;
  for (const tenant of tenants) {
    const { statusCounts, total: own } = await statisticsOf(owner(tenant));
    if (Object.entries(statusCounts).some(([status, count]) => count > 0 && !final.has(status))) return null;
    total += own;
  }
  if (total < accepted.size) return null;
  const records = await Promise.all(tenants.map((tenant) => allRecords(owner(tenant))));
  return records.flat();
}

function tell(figures: object): void {
  if (process.env['E2E_FIGURES'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
}
