// npm run bench -- --peers, short: what BullMQ does with the same load is told beside Herald's. Here, since it needs a Redis server, which comes with the engines.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { known, runBench, runMsMax } from './short-run.ts';

it(
  'the same load is put on BullMQ with Express and Redis, which delivers all of it as well',
  async () => {
    const work = await mkdtemp(join(tmpdir(), 'herald-bench-test-'));
    try {
      const figures = await runBench(work, ['--only', 'latency', '--peers']);
      expect(known(figures)).toEqual(
        expect.arrayContaining([
          'latency at 200/s: POST to sink, p99',
          'peers: BullMQ + Express, 200 webhooks end to end',
          'peers: herald / BullMQ + Express, 200 webhooks end to end',
          'peers: BullMQ + Express, at 200/s POST to sink, p99',
          'cost: a webhook of BullMQ + Express, without Redis: in requests of the empty Express',
          'cost: a webhook of BullMQ + Express: with Redis',
        ]),
      );
      const lost = figures.rows.find(({ what }) => what === 'peers: BullMQ + Express, accepted and never arrived');
      expect(lost?.value).toBe(0);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  },
  runMsMax,
);
