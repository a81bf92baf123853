// Two processes of every role: everything is delivered once, and when one of each is killed the others finish.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { setTimeout as sleep } from 'node:timers/promises';

import type { DeliveryWorld } from '../../support/delivery-world.ts';
import { startDeliveryWorld } from '../../support/delivery-world.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { startHerald } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { createPoster, inParallel } from '../../support/posting.ts';
import { allRecords, groupedBy, statisticsOf, withoutZeros } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const count = Number(process.env['E2E_CLUSTER'] ?? '1000');
/** Two session timeouts, and what a busy machine adds. */
const finishMs = 60_000 + count * 20;
/** Commits come every 200 ms; on a machine that does all of this at once they come later. */
const commitWindowMs = 1500;
/** How long after a process stopped or started numbers may move. */
const movingMs = 5000;
/** So that the posting lasts as long as the restarts. */
const rollingPauseMs = 200;
const priorities = ['HIGH', 'DEFAULT', 'BULK'];
const others = ['dispatcher', 'projector', 'scheduler'];
/** By webhook-id. */
const arrivals = new Map<string, { readonly path: string; readonly times: number[] }>();
const poster = createPoster();
const accepted = new Map<string, string>();
const statuses = new Map<number | null, number>();
let dataDir: DataDir;
let world: DeliveryWorld;
let apis: Herald[];
let nodes: Node[][];
let startApi: () => Promise<Herald>;
let startRole: (role: string) => Promise<Node>;

beforeAll(async () => {
  dataDir = await makeDataDir();
  world = await startDeliveryWorld((request, response) => {
    const { path, headers } = request;
    const id = String(headers['webhook-id']);
    const { times } = arrivals.get(id) ?? { times: [] };
    arrivals.set(id, { path, times: [...times, Date.now()] });
    response.writeHead(path.startsWith('/broken-once') && times.length === 0 ? 500 : 200).end();
  });
  const environment = { ...world.environment, RETRY_DELAYS: '1s,1s,1s,1s' };
  startApi = () => startHerald(dataDir, environment, ['--role', 'api']);
  startRole = (role) => startNode(dataDir, environment, ['--role', role]);
  apis = [await startApi()];
  // Before the others start: a change is in force on them within 5 s, which is another test.
  await world.configure(first(apis));
  apis.push(await startApi());
  nodes = await Promise.all(others.map((role) => Promise.all([startRole(role), startRole(role)])));
}, 180_000);

afterAll(async () => {
  await poster.close();
  await Promise.all([...apis, ...nodes.flat()].map((one) => one.stop()));
  await world.close();
  await dataDir.remove();
}, 60_000);

describe('two processes of every role', () => {
  it('deliver everything once, one record each, statistics exact', async () => {
    await inParallel(requests('calm'), 50, (request, i) => postTo(i % 2, request));
    expect(statuses).toEqual(new Map([[202, count]]));
    await allDelivered(count);
    expect(surplus()).toEqual([]);
    expect(world.mail.mails).toHaveLength(sentBy('EMAIL'));
    expect(world.sms.requests).toHaveLength(sentBy('SMS'));
  }, 600_000);

  it('one of each killed in the middle: the others finish, no 202 is lost, repeats are what was in flight', async () => {
    const before = world.webhooks.requests.length;
    const posting = inParallel(requests('killed'), 50, (request, i) => postTo(i % 2, request));
    await until(() => world.webhooks.requests.length - before > count / 16, { timeoutMs: 60_000, what: 'deliveries' });
    const killedAt = Date.now();
    await Promise.all([apis[1]?.kill(), ...nodes.map((pair) => pair[1]?.kill())]);
    await posting;
    expect(statuses).toEqual(new Map([[202, 2 * count]]));
    await allDelivered(accepted.size);
    const repeated = surplus();
    for (const times of repeated) {
      const justBefore = times.some((time) => Math.abs(time - killedAt) <= commitWindowMs);
      expect({ justBefore, times, killedAt }).toMatchObject({ justBefore: true });
    }
    console.log(
      `${accepted.size} accepted; after the kill of one process of each role ${repeated.length} webhooks, ` +
        `${world.mail.mails.length - sentBy('EMAIL')} mails and ${world.sms.requests.length - sentBy('SMS')} SMS came again`,
    );
  }, 600_000);

  it('restarted one after another under load: no 202 is lost, repeats are what had just been finished on numbers that moved', async () => {
    apis[1] = await startApi();
    for (const [i, role] of others.entries()) nodes[i] = [...(nodes[i] ?? []).slice(0, 1), await startRole(role)];
    const [repeatedBefore, acceptedBefore] = [surplus().length, accepted.size];
    const moves: number[] = [];
    let isRolling = true;
    const steady = inParallel(requests('rolled'), 10, async (request, i) => {
      if (isRolling) await sleep(rollingPauseMs);
      await postTo(i % 2, request);
    });
    for (const place of [0, 1]) {
      for (const [i, role] of others.entries()) {
        moves.push(Date.now());
        await nodes[i]?.[place]?.stop();
        const anew = await startRole(role);
        moves.push(Date.now());
        nodes[i] = (nodes[i] ?? []).map((node, at) => (at === place ? anew : node));
      }
      await apis[place]?.stop();
      apis[place] = await startApi();
    }
    isRolling = false;
    await steady;
    expect([...statuses.keys()]).toEqual([202]);
    await allDelivered(accepted.size);
    const repeated = surplus().slice(repeatedBefore);
    for (const times of repeated) {
      const justBefore = times.some((time) => moves.some((move) => Math.abs(time - move) <= movingMs));
      expect({ justBefore, times, moves }).toMatchObject({ justBefore: true });
    }
    console.log(
      `${accepted.size - acceptedBefore} accepted during a rolling restart; ${repeated.length} webhooks came again`,
    );
  }, 600_000);
});

/** Everything that was accepted has a DELIVERED record; what was appended though its 202 never arrived may have one as well. */
async function allDelivered(atLeast: number): Promise<void> {
  const herald = first(apis);
  await until(
    async () => {
      const { total, statusCounts } = await statisticsOf(herald);
      return total >= atLeast && statusCounts['DELIVERED'] === total;
    },
    { timeoutMs: finishMs, what: 'everything delivered' },
  );
  const records = await allRecords(herald);
  const ids = new Set(records.map(({ id }) => id));
  expect(ids.size).toBe(records.length);
  expect([...accepted.keys()].filter((id) => !ids.has(id))).toEqual([]);
  const { statusCounts, channelCounts, priorityCounts } = await statisticsOf(herald);
  expect(withoutZeros(statusCounts)).toEqual(groupedBy(records, 'status'));
  expect(withoutZeros(channelCounts)).toEqual(groupedBy(records, 'channel'));
  expect(withoutZeros(priorityCounts)).toEqual(groupedBy(records, 'priority'));
}

/** A client whose process of the API has died turns to the other one. */
async function postTo(api: number, request: Readonly<Record<string, unknown>>): Promise<void> {
  let answer = await poster.post(apis[api] ?? first(apis), request);
  if (answer.status === null) answer = await poster.post(apis[1 - api] ?? first(apis), request);
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  if (answer.id !== null) accepted.set(answer.id, String(request['channel']));
}

/** Arrivals of each webhook that came more often than it had to. */
function surplus(): readonly (readonly number[])[] {
  return [...arrivals.values()].flatMap(({ path, times }) =>
    times.length > (path.startsWith('/broken-once') ? 2 : 1) ? [times] : [],
  );
}

function sentBy(channel: string): number {
  return [...accepted.values()].filter((of) => of === channel).length;
}

function requests(name: string): Record<string, unknown>[] {
  const sendAt = new Date(Date.now() + 5000).toISOString();
  return Array.from({ length: count }, (_, i) => {
    const common = { priority: priorities[Math.floor(i / 4) % 3], body: `Your order ${i} is on its way` };
    switch (i % 4) {
      case 0:
        return { ...common, channel: 'EMAIL', recipient: `customer-${i}@example.com`, subject: `Order ${i}` };
      case 1:
        return { ...common, channel: 'SMS', recipient: `+1555${String(i).padStart(7, '0')}` };
      case 2:
        return { ...common, channel: 'IN_APP', recipient: `user-${i % 200}` };
      default: {
        const kind = i % 40 === 3 ? 'scheduled' : i % 40 === 7 ? 'broken-once' : 'plain';
        const recipient = `${world.webhooks.url}/${kind}/${name}-${i}`;
        return { ...common, channel: 'WEBHOOK', recipient, ...(kind === 'scheduled' ? { sendAt } : {}) };
      }
    }
  });
}

function first<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined) throw new Error('there is none');
  return item;
}
