// herald rebuild beside a cluster: three processes fold the next versions, one of them is killed meanwhile, one finishes each; queries are answered all the
// while by a fourth, and none is wrong.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { answersUnderTraffic } from '../../support/answers-under-traffic.ts';
import type { DataDir } from '../../support/data-dir.ts';
import { makeDataDir } from '../../support/data-dir.ts';
import type { Herald } from '../../support/herald.ts';
import { herald as command, startHerald } from '../../support/herald.ts';
import type { Node } from '../../support/nodes.ts';
import { startNode } from '../../support/nodes.ts';
import { createPoster, endlessLimits } from '../../support/posting.ts';
import { allRecords, statisticsOf } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const before = Number(process.env['E2E_SWAP_NOTIFICATIONS'] ?? 2_000);
const perSecond = Number(process.env['E2E_SWAP_RATE'] ?? 10);
/** The numbers of a killed process stand still until the group has missed it for 10 s; what a busy machine adds. */
const lagMaxMs = 20_000;
/** Of three read models. */
const rebuilt = 3;

const environment = { ...endlessLimits, LOG_LEVEL: 'info' };
const poster = createPoster();
let dataDir: DataDir;
let api: Herald;
let projectors: Node[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir();
  api = await startHerald(dataDir, environment, ['--role', 'api,dispatcher,scheduler']);
  const start = () => startNode(dataDir, environment, ['--role', 'projector']);
  projectors = await Promise.all([start(), start(), start()]);
}, 240_000);

afterAll(async () => {
  await Promise.all([api, ...projectors].map((one) => one.stop()));
  await poster.close();
  await dataDir.remove();
}, 60_000);

it('every read model is swapped in once, after a process that filled them was killed, and no query fails or is wrong', async () => {
  await poster.postMany(api, { channel: 'IN_APP', recipient: 'ada', body: 'before' }, before);
  await areDelivered(before);
  const { id: sample } = await poster.post(api, { channel: 'IN_APP', recipient: 'eva', body: 'before' });
  await areDelivered(before + 1);
  // It goes on without the command, which may be ended before.
  const asked = command(['rebuild'], dataDir.environment);
  const logs = () => projectors.map((one) => one.logs()).join('');
  const timesIn = (text: string) => logs().split(text).length - 1;
  await until(() => timesIn('is filled beside') >= rebuilt, { timeoutMs: 60_000, what: 'the rebuild to begin' });
  await projectors[0]?.kill();

  const begunAt = performance.now();
  const isOver = () => timesIn('in use as it was rebuilt') >= rebuilt || performance.now() - begunAt > 400_000;
  const told = await answersUnderTraffic({ poster, herald: api, perSecond, before: before + 1, lagMaxMs, isOver });
  process.stderr.write(
    `rebuild in a cluster: ${told.asked} queries, the slowest ${Math.round(told.slowestMs)} ms; ${told.accepted.size} posted; ` +
      `${Math.round((performance.now() - begunAt) / 1000)} s\n`,
  );
  expect(told.wrong).toEqual([]);
  if (timesIn('in use as it was rebuilt') !== rebuilt) process.stderr.write(logs());
  expect(timesIn('in use as it was rebuilt')).toBe(rebuilt);
  await asked;
  expect((await command(['rebuild', '--watch'], dataDir.environment)).stderr).toContain('none is under way');
  const total = before + 1 + told.accepted.size;
  await areDelivered(total);
  const records = await allRecords(api);
  expect(new Set(records.map(({ id }) => id)).size).toBe(total);
  expect(records.some(({ id }) => id === sample)).toBe(true);
}, 900_000);

async function areDelivered(count: number): Promise<void> {
  const all = async () => (await statisticsOf(api)).statusCounts['DELIVERED'] === count;
  await until(all, { timeoutMs: 300_000, what: `${count} to be delivered` });
}
