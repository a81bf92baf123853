// npm run bench from end to end, short: each of its lines is there with a figure, and profiles and the page are written.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { known, runBench, runMsMax } from './short-run.ts';

let work: string;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'herald-bench-test-'));
});

afterAll(() => rm(work, { recursive: true, force: true }));

const bench = (...args: readonly string[]) => runBench(work, args);

describe('a short run of the bench', () => {
  it(
    'tells cost by thread beside time, of accepting, of webhooks and of folding, and writes the page',
    async () => {
      const html = join(work, 'page.html');
      const figures = await bench('--only', 'accept,batch,delivery,latency,idle,fold,bodies,memory', '--html', html);
      const cost = ['main', 'projectors', 'V8 and the rest', 'all threads', 'busiest thread'];
      expect(known(figures)).toEqual(
        expect.arrayContaining([
          ...cost.map((thread) => `cost: a webhook, end to end: ${thread}`),
          ...cost.map((thread) => `cost: folding a notification: ${thread}`),
          'cost: a request of the empty Express: all threads',
          'cost: accepting, --role api: in requests of the empty Express',
          'cost: a webhook, end to end: in requests of the empty Express',
          'accept: --role api / express',
          'a batch of 500: of its events alone',
          'cost: an item of a batch: all threads',
          'delivery: 200 webhooks end to end',
          'latency at 200/s: POST to sink, p99',
          'idle: main',
          'idle: all threads',
          'fold: views.db, a notification',
          'resident memory, small bodies on 20 connections, highest',
          'resident memory, bodies of 190 KB on 20 connections, highest',
          'resident memory beside a crowd, highest',
          'resident memory under load, highest',
        ]),
      );
      const told = figures.rows.find(({ what }) => what === 'delivery: accepted and never arrived');
      expect(told?.value).toBe(0);
      expect(figures.machine).toMatchObject({ node: expect.stringContaining(process.versions.node) });
      const written = await readFile(html, 'utf8');
      for (const { what } of figures.rows) expect(written).toContain(what);
      expect(written).toContain('POST to sink at 200/s');
    },
    runMsMax,
  );

  it(
    'searches, asks, starts and exports on a log that a second run finds again, each row the median of its runs',
    async () => {
      const expected = [
        'search in 10,000: behind the records of a fold',
        'search in 10,000: views.db',
        'search in 10,000: one query, p99',
        'cost: search in 10,000: all threads',
        'queries in 10,000: statistics: one query, p99',
        'queries in 10,000: first page: one query, p99',
        'queries in 10,000: page=400: one query, p50',
        'queries in 10,000: by a recipient: one query, p99',
        'start with 10,000 in the log: until ready',
        ...['ndjson', 'csv', 'parquet'].flatMap((format) => [
          `export of 10,000 as ${format}`,
          `export of 10,000 as ${format}: resident memory, highest`,
          `cost: an event, ${format}: busiest thread`,
        ]),
      ];
      const first = await bench('--only', 'search,queries,start,export');
      expect(known(first)).toEqual(expect.arrayContaining(expected));
      const [kept] = await readdir(join(work, 'kept'));
      const filledAt = await readFile(join(work, 'kept', kept ?? '', 'filled.json'), 'utf8');
      const second = await bench('--only', 'queries', '--repeat', '2');
      expect(second.rows.every(({ values }) => values.length === 2)).toBe(true);
      expect(await readdir(join(work, 'kept'))).toEqual([kept]);
      expect(await readFile(join(work, 'kept', kept ?? '', 'filled.json'), 'utf8')).toBe(filledAt);
    },
    runMsMax,
  );

  it(
    'keeps a CPU profile of every thread of what it measures, in which its own code is found',
    async () => {
      const folder = join(work, 'profiles');
      await bench('--only', 'delivery', '--profile', folder);
      const files = await readdir(folder);
      expect(files.sort()).toEqual(
        expect.arrayContaining(['webhooks-1-main.cpuprofile', 'webhooks-1-projectors.cpuprofile']),
      );
      for (const file of files.filter((name) => /main|projectors/.test(name)))
        expect(await readFile(join(folder, file), 'utf8')).toMatch(/\/src\/[a-z]+\//);
    },
    runMsMax,
  );
});
