// The heaps of a service's threads: each as large as it is started with, whatever the command line says of the main thread's.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { describe, expect, it } from '@jest/globals';

const heapUrl = new URL('../../src/main/heap.ts', import.meta.url).href;
const mib = 1024 * 1024;
/** Of all that is new half is kept for a moment, as under load: the young generation grows as far as it may. */
const filling = `import { getHeapSpaceStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
let kept = [];
let most = 0;
for (let i = 0; i < 2_000_000; i++) {
  kept.push({ i });
  if (kept.length > 20_000) kept = [];
  if (i % 10_000 !== 0) continue;
  const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  most = Math.max(most, young.space_size);
}
parentPort.postMessage(most);`;

describe('the heap of a thread', () => {
  it('has the young generation that the thread is started with, also where the process has a larger one by its command line', async () => {
    expect(await youngOfThread(6)).toBeLessThanOrEqual(6 * mib);
    expect(await youngOfThread(24)).toBeGreaterThan(6 * mib);
  });
});

describe('the heaps while read models are folded from the beginning', () => {
  it('are collected less often, and as often as before once that is over', async () => {
    const small = await majorsWhile('');
    const grown = await majorsWhile('void letHeapsGrowUntil(new Promise(() => {}));');
    const after = await majorsWhile('await letHeapsGrowUntil(Promise.resolve());');

    expect(grown).toBeLessThan(small / 1.5);
    expect(after).toBeGreaterThan(grown * 1.5);
  });
});

/** How often the old generation is collected while 160 MiB of what lasts come to it. */
async function majorsWhile(statement: string): Promise<number> {
  const code = `import { constants, PerformanceObserver } from 'node:perf_hooks';
import { keepHeapsSmall, letHeapsGrowUntil } from ${JSON.stringify(heapUrl)};
keepHeapsSmall();
${statement}
let majors = 0;
const observer = new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) majors++;
});
observer.observe({ entryTypes: ['gc'] });
const kept = [];
for (let i = 0; i < 2_000; i++) {
  kept.push(Array.from({ length: 10_000 }, () => i));
  if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
await new Promise((resolve) => setTimeout(resolve, 50));
console.log(majors, kept.length);`;
  const flags = ['--max-semi-space-size=8', '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', code]);
  return Number(stdout.split(' ')[0]);
}

/** Its highest size, in bytes. */
async function youngOfThread(maxYoungGenerationSizeMb: number): Promise<number> {
  const code = `import { Worker } from 'node:worker_threads';
import { keepHeapsSmall } from ${JSON.stringify(heapUrl)};
keepHeapsSmall();
const worker = new Worker(${JSON.stringify(filling)}, { eval: true, resourceLimits: { maxYoungGenerationSizeMb: ${maxYoungGenerationSizeMb} } });
worker.once('message', (most) => console.log(most));`;
  const flags = ['--max-semi-space-size=8', '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', code]);
  return Number(stdout);
}
