// What signs no more leaves the settings by a loop of its own: neither waits for a pass over the first number, nor keeps one from being made.

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { createClock } from '../../src/adapters/node/clock.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { KeeperDependencies } from '../../src/retention/keeper.ts';
import { startKeeper } from '../../src/retention/keeper.ts';
import type { Engines } from '../projections/engines.ts';
import { openEngines } from '../projections/engines.ts';
import { until } from '../support/until.ts';

let engines: Engines;
const realClock = createClock();
/** A minute is a moment. */
const clock = { ...realClock, sleep: (_: number, signal?: AbortSignal) => realClock.sleep(1, signal) };

beforeEach(async () => {
  engines = await openEngines(clock);
});
afterEach(() => engines.close());

function keeperWith(settings: KeeperDependencies['settings'], error: (message: string) => void = () => undefined) {
  const retention = { keptMs: null, statisticsMs: null };
  const logger = { ...engines.logger, error };
  return startKeeper({ ...engines, reader: engines.store, settings, retention, clock, logger });
}

it('goes again and again while a look of the first number takes for ever', async () => {
  let [forgotten, asked] = [0, 0];
  const ended = Promise.withResolvers<ReadonlyMap<TenantId, number>>();
  const keeper = await keeperWith({
    retentions: async () => {
      asked++;
      return ended.promise;
    },
    forgetPreviousKeys: async () => void forgotten++,
  });
  await until(() => asked > 0 && forgotten > 2, { what: 'what signs no more to be forgotten' });
  ended.resolve(new Map());
  await keeper.stop();
  const atTheEnd = forgotten;
  await realClock.sleep(20);
  expect(forgotten).toBe(atTheEnd);
});

it('keeps no number from being passed over where the settings cannot be written, and says so', async () => {
  const said: string[] = [];
  const keeper = await keeperWith(
    { retentions: async () => new Map(), forgetPreviousKeys: () => Promise.reject(new Error('read-only')) },
    (message) => void said.push(message),
  );
  await until(() => keeper.states().find(({ partition }) => partition === 0)?.rests === true, { what: 'number 0' });
  await until(() => said.length > 1, { what: 'it to be said again' });
  await keeper.stop();
  expect(new Set(said)).toEqual(new Set(['former signing secrets are still stored']));
});
