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
