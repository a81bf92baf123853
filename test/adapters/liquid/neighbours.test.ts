// A tenant whose templates break their limits without an end, each time with other data, and what it costs another one.

import { afterAll, expect, it } from '@jest/globals';

import { createTemplateRenderer } from '../../../src/adapters/liquid/template-renderer.ts';
import { templateLimits } from '../../../src/adapters/liquid/limits.ts';
import type { Logger } from '../../../src/ports/logger.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
/** Judged by turns, not by the clock: a busy machine has as many. */
const patience = { renderMsMax: 60_000, queueMsMax: 60_000, workerStartMsMax: 60_000 };
const renderer = createTemplateRenderer({ logger: silent, patience });
afterAll(() => renderer.close());

const body = '{% for i in l %}{% if l contains "no" %}{% endif %}{% endfor %}!';
const l = Array.from({ length: 10_000 }, (_, i) => i);
const render = async (owner: string, data: Record<string, unknown>): Promise<string> =>
  (await renderer.render({ subject: null, body }, data, { isEmail: false, owner })).body;

it('with as many as it may have waiting, another tenant waits for two or three of them, not for its queue', async () => {
  const over = new AbortController();
  let ended = 0;
  const refusals = new Set<string>();
  const flood = Array.from({ length: templateLimits.queuePerOwnerMax }, async (_, place) => {
    for (let n = 0; !over.signal.aborted; n++) {
      refusals.add(await render('tnt_worst', { l, n: `${place} ${n}` }).catch((error: Error) => error.message));
      ended++;
    }
  });
  const waitedFor: number[] = [];
  const tookMs: number[] = [];
  for (let i = 0; i < 3; i++) {
    const [before, startedAt] = [ended, performance.now()];
    expect(await render('tnt_other', { l: [i] })).toBe('!');
    waitedFor.push(ended - before);
    tookMs.push(Math.round(performance.now() - startedAt));
  }
  expect([...refusals]).toEqual([expect.stringContaining('takes too long to render')]);
  over.abort();
  await renderer.close();
  await Promise.all(flood);
  if (process.env['E2E_FIGURES'] !== undefined) process.stdout.write(`ms: ${tookMs.join(' ')}\n`);
  // One is running in each thread; where both were taken a turn before it came, and one more ends while it is rendered.
  expect(Math.max(...waitedFor)).toBeLessThanOrEqual(3);
});
