// Retention through the whole service, killed in between: what has ended goes, its day stays counted exactly, what waits longer than that is sent, files, topics
// and collections stay bounded, and a rebuild gives what was live. RETENTION_SECONDS=60 E2E_RETENTION_SECONDS=600 is its full size, on either set of engines.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { statSync } from 'node:fs';
import { join } from 'node:path';

import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import { workTopics, deliveriesTopic } from '../../src/domain/topics.ts';
import { engineSet } from '../support/engine-set.ts';
import { bytesOfDocuments, recordsInTopics } from '../support/engines-contents.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';

const keptMs = 1000 * Number(process.env['RETENTION_SECONDS'] ?? '10');
const trafficMs = 1000 * Number(process.env['E2E_RETENTION_SECONDS'] ?? '30');
/** Embedded the process that is killed is back at once; in a cluster its numbers wait for its session to end. */
const kills = trafficMs > 6 * keptMs ? 5 : 2;
const trimmedTopics = [...workTopics, deliveriesTopic];

let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
const environment = () => ({ ...world.environment, RETENTION: `${keptMs}ms`, RETRY_DELAYS: `${2 * keptMs}ms` });

beforeAll(async () => {
  dataDir = await makeDataDir();
  const failed = new Set<string>();
  world = await startDeliveryWorld(({ path }, response) => {
    const fails = path.startsWith('/retried') && !failed.has(path);
    failed.add(path);
    response.writeHead(fails ? 500 : 200).end();
  });
  service = await startHerald(dataDir, environment());
}, 120_000);
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
}, 60_000);

it(
  'ends what has ended, counts its day, sends what waits longer, keeps the log bounded, and is the same after a rebuild',
  async () => {
    const sent = await traffic();
    const waiting = sent.filter(({ waits }) => waits);
    const calls = () => new Set(world.webhooks.requests.map(({ path }) => path));
    // Each of those that fail once is called again, later than its retention would have ended.
    const retried = () => world.webhooks.requests.filter(({ path }) => path.startsWith('/retried')).length;
    await until(
      () =>
        waiting.every(({ path }) => calls().has(path)) &&
        retried() >= 2 * waiting.filter(({ path }) => path.startsWith('/retried')).length,
      { timeoutMs: 4 * keptMs + 60_000, what: 'all that waited' },
    );
    const isEmpty = async () => {
      await noteFailures();
      return (await shown()).records === 0;
    };
    await until(isEmpty, { timeoutMs: 4 * keptMs + 60_000, what: 'nothing left' });
    expect([...failures]).toEqual([]);
    const counted = { total: sent.length, delivered: sent.length };
    expect((await shown()).day).toEqual(counted);
    expect(await stillThere(sent.map(({ id }) => id))).toEqual([]);
    await until(async () => (await eventsLeft()) === 0, { timeoutMs: 4 * keptMs + 60_000, what: 'an empty log' });
    // Something to rebuild that isn't gone.
    await post('/last');
    await until(async () => (await shown()).day.delivered === sent.length + 1, { timeoutMs: 60_000, what: 'the last' });
    await service.stop();
    const { code, stdout, stderr } = await command(['rebuild'], { ...dataDir.environment, ...environment() });
    expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: expect.not.stringContaining('NOT equal') });
    service = await startHerald(dataDir, environment());
    await until(async () => (await shown()).day.total === sent.length + 1, {
      timeoutMs: 60_000,
      what: 'the same days',
    });
  },
  60_000 * 5 + 2 * trafficMs + 20 * keptMs,
);

/** Causes by what they were seen to count, while they are kept: whoever reads that fewer were delivered is told why. */
const failures = new Map<string, number>();

async function noteFailures(): Promise<void> {
  const { body } = await service.dashboard('GET', '/dashboard/failures');
  for (const cause of body['causes'] as Cause[]) failures.set(`${cause.class} ${cause.code}`, cause.count);
}

interface Cause {
  readonly class: string;
  readonly code: string | null;
  readonly count: number;
}

interface Sent {
  readonly id: string;
  readonly path: string;
  /** Longer than it is kept. */
  readonly waits: boolean;
}

/** As it goes on the process is killed, and what it holds on the disk looked at. */
async function traffic(): Promise<Sent[]> {
  const sent: Sent[] = [];
  const sizes: (readonly Size[])[] = [];
  let lookAt = 0;
  const begunAt = Date.now();
  let killed = 0;
  for (let n = 0; Date.now() - begunAt < trafficMs; n++) {
    const waits = n % 20 === 0;
    const path = waits ? `/${n % 40 === 0 ? 'scheduled' : 'retried'}/${n}` : `/${n}`;
    const sendAt = path.startsWith('/scheduled') ? new Date(Date.now() + 2 * keptMs).toISOString() : undefined;
    const id = await post(path, sendAt);
    sent.push({ id, path, waits });
    if (Date.now() >= lookAt) {
      sizes.push(await sizesNow());
      await noteFailures();
      lookAt = Date.now() + keptMs / 50;
    }
    if (killed < kills && Date.now() - begunAt > ((killed + 1) * trafficMs) / (kills + 1)) {
      killed++;
      await service.kill();
      service = await startHerald(dataDir, environment());
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  areBounded(sizes);
  return sent;
}

/** After four times what it is kept all has what it needs for good: nothing to look at in the short form. */
function areBounded(sizes: readonly (readonly Size[])[]): void {
  if (trafficMs <= 6 * keptMs) return;
  const grown = sizes.slice(0, Math.floor((sizes.length * 4 * keptMs) / trafficMs));
  const most = (of: typeof sizes, name: string) =>
    Math.max(...of.flat().flatMap((one) => (one.name === name ? [one.size] : [])));
  for (const { name } of sizes[0] ?? []) {
    const [before, ever] = [most(grown, name), most(sizes, name)];
    process.stderr.write(`${JSON.stringify({ name, inItsFirstRetentions: before, ever })}\n`);
    expect([name, ever < 1.5 * before]).toEqual([name, true]);
  }
}

interface Size {
  readonly name: string;
  readonly size: number;
}

/** What is kept of it: bytes of the files; on real engines records of the topics that retention trims, and bytes of the documents. */
async function sizesNow(): Promise<readonly Size[]> {
  if (engineSet === 'embedded')
    return ['log.db', 'views.db'].map((name) => ({ name, size: statSync(join(dataDir.path, name)).size }));
  return [
    { name: 'records in topics', size: await recordsInTopics(dataDir.environment, trimmedTopics) },
    { name: 'bytes of documents', size: await bytesOfDocuments(dataDir.environment) },
  ];
}

async function post(path: string, sendAt?: string): Promise<string> {
  const body = { channel: 'WEBHOOK', recipient: `${world.webhooks.url}${path}`, body: 'x'.repeat(500) };
  const answer = await service.notify({ ...body, ...(sendAt === undefined ? {} : { sendAt }) });
  expect(answer.status).toBe(202);
  return String(answer.body['notificationId']);
}

async function shown(): Promise<{ records: number; day: { total: number; delivered: number } }> {
  const list = await service.dashboard('GET', '/notifications?limit=1');
  const stats = await service.dashboard('GET', '/dashboard/stats?range=7d');
  const { total, statusCounts } = stats.body as { total: number; statusCounts: Record<string, number> };
  return {
    records: (list.body['pagination'] as { total: number }).total,
    day: { total, delivered: statusCounts['DELIVERED'] ?? 0 },
  };
}

/** Some of the first and of the last. */
async function stillThere(ids: readonly string[]): Promise<string[]> {
  const some = [...ids.slice(0, 10), ...ids.slice(-10)];
  const answers = await Promise.all(
    some.map(async (id) => [id, (await service.call('GET', `/api/v1/notify/${id}`, withKey())).status] as const),
  );
  return answers.filter(([, status]) => status !== 404).map(([id]) => id);
}

function withKey() {
  return { headers: { 'x-api-key': service.apiKey } };
}

/** Of notifications, as an export counts them. */
async function eventsLeft(): Promise<number> {
  const { stdout, stderr, code } = await command(['export', '--out', '-', '--type', 'NotificationRequested'], {
    ...dataDir.environment,
    ...environment(),
  });
  if (code !== 0) throw new Error(stderr);
  return stdout.split('\n').filter((line) => line !== '').length;
}
