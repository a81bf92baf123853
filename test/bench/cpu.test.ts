// Processor time by thread: what Linux writes of a thread is read whatever its name, and what was spent between two readings is told by the threads' names.

import { expect, it } from '@jest/globals';

import type { CpuReading } from '../../bench/cpu.ts';
import { addedUp, busiestUs, cpuBetween, parseStat, readCpu, totalUs } from '../../bench/cpu.ts';
import { until } from '../support/until.ts';

const stat = (name: string) => `4242 (${name}) S 1 4242 4242 0 -1 4194560 1000 0 3 0 250 75 9 9 20 0 11 0 100 1 2`;

it('user and system time are read in us, behind a name with whatever it has', () => {
  for (const name of ['projectors', 'V8 Worker', 'a (b) c', ') S 1 2 (']) {
    expect(parseStat(stat(name))).toEqual({ name, us: 3_250_000 });
  }
});

const before: CpuReading = {
  processUs: 1_000_000,
  threads: [
    { id: 7, name: 'MainThread', us: 500_000 },
    { id: 8, name: 'V8Worker', us: 100_000 },
    { id: 9, name: 'projectors', us: 300_000 },
    { id: 10, name: 'templates', us: 50_000 },
  ],
};
const after: CpuReading = {
  processUs: 2_000_000,
  threads: [
    { id: 7, name: 'MainThread', us: 900_000 },
    { id: 8, name: 'V8Worker', us: 200_000 },
    { id: 9, name: 'projectors', us: 550_000 },
    // Another one of the same work: the first has ended.
    { id: 11, name: 'templates', us: 30_000 },
    { id: 12, name: 'libuv-worker', us: 40_000 },
  ],
};

it('what was spent is told by thread: the main one, workers by name, and what is left, of threads that ended too', () => {
  const spent = cpuBetween(7, before, after);
  expect([...spent]).toEqual([
    ['main', 400_000],
    ['projectors', 250_000],
    ['templates', 30_000],
    ['V8 and the rest', 320_000],
  ]);
  expect(totalUs(spent)).toBe(1_000_000);
  expect(busiestUs(spent)).toBe(400_000);
});

it('what was spent in several rounds is added up thread by thread, what is left last', () => {
  const first = cpuBetween(7, before, { ...before, processUs: 1_010_000 });
  const all = addedUp([first, cpuBetween(7, before, after)]);
  expect([...all]).toEqual([
    ['main', 400_000],
    ['projectors', 250_000],
    ['templates', 30_000],
    ['V8 and the rest', 330_000],
  ]);
});

it('of this process: what its main thread computes is counted there', async () => {
  const first = readCpu(process.pid);
  if (process.platform !== 'linux') return expect(first).toBeNull();
  if (first === null) throw new Error('Linux tells of this process');
  const spent = () => cpuBetween(process.pid, first, readCpu(process.pid) ?? first);
  await until(
    () => {
      for (let i = 0; i < 1e6; i++) Math.sqrt(i);
      return (spent().get('main') ?? 0) >= 50_000;
    },
    { what: 'the main thread to have spent 50 ms' },
  );
  expect(totalUs(spent())).toBeGreaterThanOrEqual(50_000);
});

it('of a process that is gone nothing is known', () => {
  expect(readCpu(2 ** 30)).toBeNull();
});
