// One tenant floods its BULK to a slow receiver: another tenant's HIGH and BULK, on the flood's partition numbers, don't notice.
//
//   E2E_FIGURES=1 E2E_FLOOD_POSTS=200000 E2E_SINK_MS=5 E2E_BESIDE_POSTS=300 npm test -- test/e2e/surplus     and with E2E_SINK_MS=2000 and 15000;
//   with `npm run test:real --` on Kafka, MongoDB and Redis. Limits for a machine to itself: E2E_HIGH_P99_MS=100 E2E_BULK_P99_MS=1000
//
// It ends once the other's have arrived: what waits of the flood then goes with its service.

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { NotificationId } from '../../src/domain/ids.ts';
import type { Flood } from '../support/flood.ts';
import { startFlood } from '../support/flood.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald } from '../support/herald.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { Poster } from '../support/posting.ts';
import { createPoster, endlessLimits } from '../support/posting.ts';
import { createProvisioner, webhookNumber, webhookNumbers } from '../support/provisioning.ts';
import type { TestTenant } from '../support/provisioning.ts';
import { until } from '../support/until.ts';

/** More than a tenant may hold of its lane, some 2,500 small events over its two numbers. */
const floodPosts = Number(process.env['E2E_FLOOD_POSTS'] ?? '6000');
/** How long the flood's receiver takes. */
const sinkMs = Number(process.env['E2E_SINK_MS'] ?? '15000');
/** So slow that the flood is there longer than the other's are measured. */
const waitsFromMs = 100;
/** The other's, in turn HIGH and BULK, in each phase. */
const besidePosts = Number(process.env['E2E_BESIDE_POSTS'] ?? '60');
/** Ten a second; to tell two versions apart takes several hundred HIGH of each, so more. */
const besideEveryMs = Number(process.env['E2E_BESIDE_EVERY_MS'] ?? '100');
/** A machine that runs other tests beside this one has pauses of its own. */
const highP99MaxMs = Number(process.env['E2E_HIGH_P99_MS'] ?? Infinity);
const bulkP99MaxMs = Number(process.env['E2E_BULK_P99_MS'] ?? Infinity);
const wantsFigures = process.env['E2E_FIGURES'] !== undefined;
const warmingMs = 5000;
const arriveWithinMs = 60_000;

let dataDir: DataDir;
let service: Herald;
let flood: Flood;
let fast: HttpSink;
let poster: Poster;
/** When each of the other's arrived, by its body. */
const arrivedAt = new Map<string, number>();

beforeAll(async () => {
  dataDir = await makeDataDir();
  flood = await startFlood({ sinkMs });
  fast = await startHttpSink({
    respond({ body }, response) {
      arrivedAt.set((JSON.parse(body) as { data: { body: string } }).data.body, performance.now());
      response.end();
    },
  });
  service = await startHerald(dataDir, { ...endlessLimits, OUTBOUND_ALLOW: '127.0.0.1/32' });
  poster = createPoster();
}, 120_000);
afterAll(async () => {
  await service.kill();
  await Promise.all([flood.close(), fast.close(), poster.close()]);
  await dataDir.remove();
}, 60_000);

it("a flood of BULK to a slow receiver, more than a tenant may hold: another's HIGH and BULK on its numbers arrive while it waits, every one", async () => {
  const [flooding, other] = await twoOnTheSameNumber();
  const numbers = webhookNumbers(flooding.id);
  // The first ones of a process meet code that isn't compiled yet and connections that aren't open.
  if (wantsFigures) await besideOf('warming', other, numbers, sleep(warmingMs));
  const unloaded = wantsFigures ? await besideOf('unloaded', other, numbers) : null;
  const posting = postFlood(flooding);
  const whilePosted = wantsFigures ? await besideOf('posted', other, numbers, posting) : null;
  const postedPerSecond = await posting;
  const floodAlone = wantsFigures ? await floodRate(() => sleep(besidePosts * besideEveryMs)) : null;
  let whileWaiting: Beside | null = null;
  const floodBeside = await floodRate(async () => {
    whileWaiting = await besideOf('waiting', other, numbers);
  });
  const waiting = floodPosts - flood.arrived();
  const whole = besideOfBoth(whilePosted, whileWaiting);
  tell({
    sinkMs,
    floodPosts,
    waiting,
    postedPerSecond,
    floodAlone,
    floodBeside,
    unloaded,
    whilePosted,
    whileWaiting,
    whole,
  });
  // A receiver that answers at once has had all of it by then.
  if (sinkMs >= waitsFromMs) expect(waiting).toBeGreaterThan(0);
  const beside = whileWaiting as Beside | null;
  // None would be within any limit.
  expect(Math.min(beside?.HIGH.count ?? 0, beside?.BULK.count ?? 0)).toBeGreaterThan(0);
  for (const { HIGH, BULK } of [whilePosted, beside].filter((one) => one !== null)) {
    // Of a flood that is posted at once there may be none beside it.
    expect(HIGH.p99).not.toBeGreaterThan(highP99MaxMs);
    expect(BULK.p99).not.toBeGreaterThan(bulkP99MaxMs);
  }
}, 900_000);

interface Took {
  /** Milliseconds, ascending; left out of what is told. */
  readonly sorted: readonly number[];
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}
type Beside = Readonly<Record<'HIGH' | 'BULK', Took>>;

/** Resolves with how many a second were accepted. */
async function postFlood({ url, apiKey }: TestTenant): Promise<number> {
  const from = performance.now();
  const notification = { channel: 'WEBHOOK', priority: 'BULK', body: 'flood' };
  await flood.post({ url, apiKey, notification, count: floodPosts });
  return Math.round(floodPosts / ((performance.now() - from) / 1000));
}

/**
 * Posts at its times, whatever has arrived, until something else is over if there is that; resolves when all have arrived. Those on the flood's numbers are
 * measured, each from its post on.
 */
async function besideOf(
  phase: string,
  other: TestTenant,
  numbers: ReadonlySet<number>,
  meanwhile?: Promise<unknown>,
): Promise<Beside> {
  const over = new AbortController();
  void meanwhile?.finally(() => over.abort()).catch(() => undefined);
  const sent: { readonly body: string; readonly priority: 'HIGH' | 'BULK'; readonly at: number }[] = [];
  const posts: Promise<void>[] = [];
  const bodies: string[] = [];
  const from = performance.now();
  for (let i = 0; i < besidePosts && !over.signal.aborted; i++) {
    await sleep(Math.max(0, from + i * besideEveryMs - performance.now()));
    const priority = i % 2 === 0 ? 'HIGH' : 'BULK';
    const body = `${phase} ${priority} ${i}`;
    bodies.push(body);
    const at = performance.now();
    const posted = post(other, { recipient: fast.url, priority, body });
    posts.push(posted.then((number) => void (numbers.has(number) && sent.push({ body, priority, at }))));
  }
  await Promise.all(posts);
  const arrived = () => bodies.filter((body) => arrivedAt.has(body)).length;
  await until(() => arrived() === bodies.length, { timeoutMs: arriveWithinMs, everyMs: 20, what: `all of ${phase}` });
  const took = (lane: string) =>
    sent.filter(({ priority }) => priority === lane).map(({ body, at }) => (arrivedAt.get(body) ?? Number.NaN) - at);
  return { HIGH: tookOf(took('HIGH')), BULK: tookOf(took('BULK')) };
}

/** How many of the flood arrive in a second while something else goes on. */
async function floodRate(meanwhile: () => Promise<void>): Promise<number> {
  const [before, from] = [flood.arrived(), performance.now()];
  await meanwhile();
  return Math.round((flood.arrived() - before) / ((performance.now() - from) / 1000));
}

/** The partition number that it goes to. */
async function post(tenant: TestTenant, notification: object): Promise<number> {
  const { status, id } = await poster.post(tenant, { channel: 'WEBHOOK', ...notification });
  if (status !== 202 || id === null) throw new Error(`answered ${String(status)}`);
  return webhookNumber(tenant.id, id as NotificationId);
}

/** Of tenants that are made one after another the first two that share a partition number. */
async function twoOnTheSameNumber(): Promise<readonly [TestTenant, TestTenant]> {
  const provisioner = await createProvisioner(dataDir, service);
  const tenants: TestTenant[] = [];
  for (;;) {
    const tenant = await provisioner.tenant();
    const numbers = webhookNumbers(tenant.id);
    const beside = tenants.find(({ id }) => [...webhookNumbers(id)].some((number) => numbers.has(number)));
    if (beside !== undefined) return [beside, tenant];
    tenants.push(tenant);
  }
}

function tookOf(values: readonly number[]): Took {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN);
  return { sorted, count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** The whole flood: of twice as many the slowest hundredth is less of an accident. */
function besideOfBoth(whilePosted: Beside | null, whileWaiting: Beside | null): Beside | null {
  if (whilePosted === null || whileWaiting === null) return null;
  const both = (lane: 'HIGH' | 'BULK') => tookOf([...whilePosted[lane].sorted, ...whileWaiting[lane].sorted]);
  return { HIGH: both('HIGH'), BULK: both('BULK') };
}

function tell(figures: object): void {
  if (wantsFigures)
    process.stderr.write(
      `${JSON.stringify(figures, (key, value: unknown) => (key === 'sorted' ? undefined : value), 2)}\n`,
    );
}
