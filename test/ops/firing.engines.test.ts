// The alerts that a cluster's engines are the cause of, against a real service behind faulty proxies; all others are in firing.tools.test.ts.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { firesExactly } from './firing/evaluate.ts';
import type { Cluster } from './firing/failing-cluster.ts';
import { failingCluster, startCluster } from './firing/failing-cluster.ts';
import { findPromtool } from './promtool.ts';

let promtool: string;
let cluster: Cluster;

beforeAll(async () => {
  promtool = await findPromtool();
  cluster = await startCluster();
}, 300_000);

afterAll(() => cluster?.close(), 180_000);

describe('where', () => {
  for (const failure of failingCluster) {
    const { what, fires } = failure;
    it(`${what}: ${fires.join(', ')}`, async () => {
      expect(await firesExactly(promtool, await failure.run(cluster), fires)).toContain('SUCCESS');
    }, 240_000);
  }
});
