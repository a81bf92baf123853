// What the service does again and again is compiled for good: V8 gives up compiled code where a closure that is made anew for each batch is the only one of its
// text, or where an object's shape goes on changing, compiles it once more after each collection, and runs it slowly meanwhile. V8's own log of what it compiles
// (--log-code) says so, by thread and by place.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { heraldCommand, makeDataDir, startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';

const batches = 12;
const itemsOfOne = 5000;
/** One in a hundred has a field that there isn't, whose name is a number: objects that have one are gone through otherwise by V8. */
const wrongEvery = 100;
const acceptedOfOne = itemsOfOne - itemsOfOne / wrongEvery;
/** Optimized quickly, then well, and anew for kinds of values that come late: 20 at most. Faults made it 65 times. */
const timesMax = 40;
const logPrefix = 'v8.log';
let dataDir: DataDir;
let service: Herald;

beforeAll(async () => {
  dataDir = await makeDataDir('embedded');
  const flags = ['--log-code', `--logfile=${join(dataDir.path, logPrefix)}`];
  const environment = { ITEM_LIMIT: '1000000/10s', LOG_LEVEL: 'warn' };
  service = await startHerald(dataDir, environment, [], [...flags, ...heraldCommand]);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await dataDir.remove();
}, 60_000);

it(`no function is compiled over ${timesMax} times while ${batches * itemsOfOne} notifications of many shapes are accepted, delivered and folded`, async () => {
  const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/x-ndjson' };
  for (let batch = 0; batch < batches; batch++) {
    const body = Array.from({ length: itemsOfOne }, (_, i) => JSON.stringify(itemOf(batch * itemsOfOne + i))).join(
      '\n',
    );
    const answer = await service.call('POST', '/api/v1/notify/batch', { headers, body });
    expect([answer.status, answer.body['accepted']]).toEqual([202, acceptedOfOne]);
  }
  await until(async () => (await delivered()) === batches * acceptedOfOne, {
    timeoutMs: 300_000,
    everyMs: 500,
    what: 'every item to be delivered and counted',
  });
  const times = await compiledTimes();
  // What was looked for is there: each thread has a log of its own, and two at least have compiled much.
  expect(times.filter((byPlace) => byPlace.size > 100).length).toBeGreaterThanOrEqual(2);
  const often = times.flatMap((byPlace) => [...byPlace].filter(([, count]) => count > timesMax));
  expect(often).toEqual([]);
}, 400_000);

/** In-app items, each of one of several shapes, some of whose names are numbers. */
function itemOf(i: number): object {
  const plain = { channel: 'IN_APP', recipient: `user-${i % 1000}`, body: `item ${i}` };
  if (i % wrongEvery === 0) return { ...plain, 0: 'wrong' };
  switch (i % 6) {
    case 0:
      return { ...plain, subject: 'first' };
    case 1:
      return { subject: 'second', ...plain, priority: 'BULK' };
    case 2:
      return { ...plain, metadata: { [`${i % 50}`]: 'a', plan: 'gold' } };
    case 3:
      return {
        body: '{{ name }}',
        data: { name: 'Ada', [`${i % 7}`]: { deep: [i] } },
        channel: 'IN_APP',
        recipient: 'ada',
      };
    case 4:
      return { priority: 'HIGH', metadata: { order: String(i) }, ...plain };
    default:
      return plain;
  }
}

async function delivered(): Promise<number> {
  const { body } = await service.dashboard('GET', '/dashboard/stats?range=all&channel=IN_APP');
  return Number((body['statusCounts'] as Record<string, unknown> | undefined)?.['DELIVERED'] ?? 0);
}

/** Of each thread that compiled anything of it: how often V8 optimized a function of Herald's, by its place. */
async function compiledTimes(): Promise<ReadonlyMap<string, number>[]> {
  const names = (await readdir(dataDir.path)).filter((name) => name.endsWith(logPrefix));
  const all = await Promise.all(names.map(async (name) => timesIn(await readFile(join(dataDir.path, name), 'latin1'))));
  return all.filter(({ size }) => size > 0);
}

/** `code-creation,JS,kind,time,address,size,name file:///.../src/...:line:column,function,tier`: `*` and `+` are the optimizing compilers'. Libraries have a `src`, too. */
function timesIn(log: string): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const [, place = ''] of log.matchAll(/^code-creation,JS,(?!.*node_modules).*?\/(src\/[^,]+),[^,]+,[*+]'?$/gm))
    times.set(place, (times.get(place) ?? 0) + 1);
  return times;
}
