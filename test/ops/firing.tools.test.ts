// Each alert against a real service that is made to fail as the alert says: it fires, and nothing else does but what follows from it; and the board has numbers.
// Two scrapes are stretched to an hour (firing/series.ts). What a cluster's engines do is in firing.engines.test.ts.

import { beforeAll, describe, expect, it } from '@jest/globals';

import { failingCalls } from './firing/failing-calls.ts';
import { failingCluster } from './firing/failing-cluster.ts';
import { failingDeliveries } from './firing/failing-deliveries.ts';
import { failingEngines } from './firing/failing-engines.ts';
import { answersEach, firesExactly } from './firing/evaluate.ts';
import { doingWell } from './firing/doing-well.ts';
import type { Seen } from './firing/series.ts';
import type { Failure } from './firing/stage.ts';
import { staged } from './firing/stage.ts';
import { alertRules, boardQueries } from './ops-files.ts';
import { findPromtool } from './promtool.ts';

const failures = [...failingEngines, ...failingDeliveries, ...failingCalls];
/** Services are started in it, and 30 s and more are waited for. */
const caseTimeoutMs = 240_000;
let promtool: string;

beforeAll(async () => {
  promtool = await findPromtool();
}, 300_000);

it('there is a failure for every alert', () => {
  const fired = [...failures, ...failingCluster].flatMap(({ fires }) => fires);
  expect([...new Set(fired)].toSorted()).toEqual(
    alertRules()
      .map(({ alert }) => alert)
      .toSorted(),
  );
});

const firesAsItSays = async (failure: Failure) => {
  const seen = await staged(failure, 'embedded');
  expect(await firesExactly(promtool, seen, failure.fires)).toContain('SUCCESS');
};
const nameOf = ({ what, fires }: Failure) => `${what}: ${fires.join(', ')}`;

// Some at once: most of a failure is waiting, for a standstill of 30 s or for receivers that answer after 12.
describe('where', () => {
  for (const failure of failures.filter(({ isAlone }) => isAlone !== true))
    it.concurrent(nameOf(failure), () => firesAsItSays(failure), caseTimeoutMs);
});

describe('by itself, where', () => {
  for (const failure of failures.filter(({ isAlone }) => isAlone === true))
    it(nameOf(failure), () => firesAsItSays(failure), caseTimeoutMs);
});

describe('a service that does well', () => {
  let seen: Seen;

  beforeAll(async () => {
    seen = await staged(doingWell, 'embedded');
  }, caseTimeoutMs);

  it('fires nothing', async () => {
    expect(await firesExactly(promtool, seen, [])).toContain('SUCCESS');
  });

  it('has an answer to every query of the board', async () => {
    expect(await answersEach(promtool, seen, boardQueries())).toContain('SUCCESS');
  });
});
