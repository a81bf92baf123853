// kill -9, SIGTERM and a freeze in the middle of deliveries: no 202 is lost, nothing is stuck, and what is sent twice is what a kill found in flight.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { setTimeout as sleep } from 'node:timers/promises';

import { assertNever } from '../../src/domain/assert-never.ts';
import { readModels } from '../../src/projections/index.ts';
import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import { engineSet } from '../support/engine-set.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command, makeDataDir, startHerald } from '../support/herald.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../support/records.ts';
import { until } from '../support/until.ts';

const deeds = ['kill', 'freeze', 'kill', 'stop', 'kill'] as const;
/** Shorter than a session (10 s): nothing of it is anybody else's meanwhile. */
const frozenMs = 3_000;
const perRound = Number(process.env['E2E_KILLED'] ?? '400');
const arrivals = new Map<string, number[]>();
const killedAt: number[] = [];
/** A commit of offsets each 200 ms, and what a busy machine adds to it; servers beside it make it busier. */
const commitWindowMs = engineSet === 'embedded' ? 500 : 1500;
let dataDir: DataDir;
let world: DeliveryWorld;
let service: Herald;
let environment: Record<string, string>;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) => {
    const times = [...(arrivals.get(request.path) ?? []), Date.now()];
    arrivals.set(request.path, times);
    const tries = times.length;
    const failing = request.path.startsWith('/broken-once') && tries === 1;
    // Some take their time, so that a kill finds attempts in flight.
    setTimeout(() => response.writeHead(failing ? 500 : 200).end(), request.path.endsWith('7') ? 30 : 0);
  });
  environment = { ...world.environment, RETRY_DELAYS: '1s,1s,1s,1s' };
  service = await startHerald(dataDir, environment);
});
afterAll(async () => {
  await service.stop();
  await world.close();
  await dataDir.remove();
});

it('every 202 is delivered, retries and sendAt included; repeats are few; the statistics equal the records', async () => {
  const accepted = new Set<string>();
  const post = async (path: string, more: Record<string, unknown> = {}) => {
    const recipient = `${world.webhooks.url}${path}`;
    const answer = await service.notify({ channel: 'WEBHOOK', recipient, body: 'hi', ...more }).catch(() => null);
    if (answer?.status === 202) accepted.add(path);
  };
  for (const [round, deed] of deeds.entries()) {
    const sendAt = new Date(Date.now() + 3000).toISOString();
    const before = world.webhooks.requests.length;
    const posts: Promise<void>[] = [];
    for (let i = 0; i < perRound; i++) {
      const name = `${round}-${i}`;
      if (i % 20 === 3) posts.push(post(`/scheduled/${name}`, { sendAt }));
      else if (i % 20 === 5) posts.push(post(`/broken-once/${name}`));
      else posts.push(post(`/plain/${name}`));
    }
    // In the middle: some have arrived, most haven't.
    await until(() => world.webhooks.requests.length - before > perRound / 4, {
      timeoutMs: 20_000,
      what: 'a quarter of the deliveries',
    });
    await happen(deed);
    await Promise.all(posts);
    if (deed !== 'freeze') service = await startHerald(dataDir, environment);
  }
  await until(
    () => [...accepted].every((path) => (arrivals.get(path)?.length ?? 0) >= (path.startsWith('/broken-once') ? 2 : 1)),
    {
      timeoutMs: 60_000,
      what: 'every accepted one at the receiver',
    },
  );
  const records = await until(
    async () => {
      const all = await allRecords(service);
      return all.every((record) => record.status === 'DELIVERED') && all;
    },
    { timeoutMs: 30_000, what: 'no record stuck' },
  );
  expect(records.length).toBeGreaterThanOrEqual(accepted.size);
  expect(withoutZeros((await statisticsOf(service)).statusCounts)).toEqual(groupedBy(records, 'status'));

  // What arrived twice had arrived just before a kill, or was in flight at it: nothing older is sent again, and nothing for a stop or a freeze.
  const surplus = [...arrivals].flatMap(([path, times]) =>
    times.slice(path.startsWith('/broken-once') ? 2 : 1).map(() => times),
  );
  for (const times of surplus) {
    const justBefore = killedAt.some((at) =>
      times.some((time) => time > at - commitWindowMs && time <= at + commitWindowMs),
    );
    expect({ justBefore, times, killedAt }).toEqual({ justBefore: true, times, killedAt });
  }
  console.log(
    `${accepted.size} accepted over ${deeds.join(', ')}, ${arrivals.size} arrived, ${surplus.length} sent again`,
  );
}, 150_000);

it('read models that lived through the kills equal those folded again from the log', async () => {
  await service.stop();
  const { code, stdout, stderr } = await command(['rebuild'], dataDir.environment);
  const told = stdout + stderr;
  for (const {
    definition: { name },
  } of readModels)
    expect({ code, told }).toMatchObject({ code: 0, told: expect.stringMatching(`${name}: .*equal to`) });
  expect(told).not.toContain('NOT equal');
  service = await startHerald(dataDir, environment);
}, 60_000);

async function happen(deed: (typeof deeds)[number]): Promise<void> {
  switch (deed) {
    case 'kill':
      killedAt.push(Date.now());
      return service.kill();
    case 'stop':
      expect(await service.stop()).toBe(0);
      return;
    case 'freeze':
      service.process.kill('SIGSTOP');
      await sleep(frozenMs);
      service.process.kill('SIGCONT');
      return;
    default:
      assertNever(deed);
  }
}
