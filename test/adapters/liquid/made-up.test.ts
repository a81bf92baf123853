// Whatever a tenant writes as a template and sends with it, the thread that accepts notifications does little for it. Measured with the worker, as the service has it:
//
//   HERALD_TEST_TEMPLATES=20000 HERALD_TEST_CPU_MS=50 npm test -- test/adapters/liquid/made-up
//
// A failure names its seed, which HERALD_TEST_TEMPLATES_SEED makes again.

import { afterAll, expect, it } from '@jest/globals';

import { createTemplateRenderer } from '../../../src/adapters/liquid/template-renderer.ts';
import { DomainError } from '../../../src/domain/errors.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { anyRecipe, dataOf, type Recipe, sourcesOf } from '../../support/made-up-templates.ts';
import fc from '../../support/properties.ts';
import { cpuMsSince, threadCpuMsMax } from '../../support/thread-cpu.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const cases = Number(process.env['HERALD_TEST_TEMPLATES'] ?? '150');
const seed = process.env['HERALD_TEST_TEMPLATES_SEED'];
/** Some take the worker its 250 ms, and some a new worker. */
const caseMsMax = 2000;

const renderer = createTemplateRenderer({ logger: silent });
afterAll(() => renderer.close());

it(
  `${cases} templates made up at random hold the main thread for a moment each`,
  async () => {
    const taken: number[] = [];
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(anyRecipe, async (recipe) => {
        let { ms, isRefused } = await rendered(renderer, recipe);
        // Garbage of those before may be collected in it: what is dear is dear again, to a renderer that hasn't parsed it.
        for (let again = 0; again < 2 && ms >= threadCpuMsMax; again++) {
          const fresh = createTemplateRenderer({ logger: silent });
          ms = Math.min(ms, (await rendered(fresh, recipe)).ms);
          await fresh.close();
        }
        taken.push(ms);
        if (isRefused) refused++;
        expect(ms).toBeLessThan(threadCpuMsMax);
      }),
      { numRuns: cases, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) },
    );
    const sorted = taken.toSorted((a, b) => a - b);
    const at = (share: number) => Math.round((sorted[Math.ceil(sorted.length * share) - 1] ?? 0) * 10) / 10;
    console.info(JSON.stringify({ cases, refused, cpuMs: { p50: at(0.5), p99: at(0.99), max: at(1) } }));
    // Were all refused, nothing would have been rendered.
    expect(refused).toBeLessThan(cases);
  },
  cases * caseMsMax,
);

/** What this thread does for it, from the call to its answer; it does nothing else meanwhile. A refusal is as good as a text. */
async function rendered(by: typeof renderer, recipe: Recipe): Promise<{ ms: number; isRefused: boolean }> {
  const source = sourcesOf(recipe);
  const data = dataOf(recipe);
  const before = process.threadCpuUsage();
  let isRefused = false;
  try {
    await by.render(source, data, { isEmail: true, owner: 'tnt_a' });
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    isRefused = true;
  }
  return { ms: cpuMsSince(before), isRefused };
}
