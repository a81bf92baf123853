// What templates cost the thread that accepts notifications: little, with each that was found to be dear once. Whatever else is made up: made-up.test.ts.

import { afterAll, describe, expect, it } from '@jest/globals';

import { createTemplateRenderer } from '../../../src/adapters/liquid/template-renderer.ts';
import { DomainError } from '../../../src/domain/errors.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { cpuMsSince, threadCpuMsMax } from '../../support/thread-cpu.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const renderer = createTemplateRenderer({ logger: silent });
/** Its worker answers at once, with nothing: what is handed over isn't measured here, and need not be waited for. */
const handingOver = createTemplateRenderer({
  logger: silent,
  workerUrl: dataUrl(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', () => parentPort.postMessage({ kind: 'rendered', text: '', missing: [] }));
  parentPort.postMessage({ kind: 'ready' });
`),
});
afterAll(() => Promise.all([renderer.close(), handingOver.close()]));

const text = 'a'.repeat(60 * 1024);
const numbers = Array.from({ length: 16_000 }, (_, i) => i % 10);
const object = Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`k${i}`, 1]));
const zones = Intl.supportedValuesOf('timeZone');

describe('a template costs the thread that accepts it little', () => {
  it.each<[string, string, Record<string, unknown>]>([
    ['a long text as a key, 64,800 times', `{{x${'[d]'.repeat(2700)}}}`.repeat(24), { x: {}, d: text }],
    ['an array as a key, 64,800 times', `{{x${'[d]'.repeat(2700)}}}`.repeat(24), { x: {}, d: numbers }],
    [
      'an array as a key of what is there',
      `{{${'x['.repeat(20)}d${']'.repeat(20)}}}`.repeat(400),
      { x: [], d: numbers },
    ],
    ['an array of empty texts cut short', '{{d|truncate:1}}'.repeat(1900), { d: Array(20_000).fill('') }],
    [
      'an array of empty arrays as text',
      '{{d|upcase|size}}'.repeat(1990),
      { d: Array.from({ length: 20_000 }, () => []) },
    ],
    ['an array of empty texts joined', '{{d|join|size}}'.repeat(1990), { d: Array(20_000).fill('') }],
    ['an object as text', '{{d|upcase|size}}'.repeat(1990), { d: object }],
    ['JSON', '{{d|json|size}}'.repeat(1990), { d: numbers }],
    ['the size of an object', '{{d.size}}'.repeat(1990), { d: object }],
    ['numerals of any length', '{{d|plus:d}}'.repeat(1990), { d: '9'.repeat(60_000) }],
    ['an array as the format of a date', '{{d|date:d}}'.repeat(1990), { d: Array(20_000).fill('') }],
    ['an array as what is replaced', '{{a|replace:d,a}}'.repeat(1990), { a: 'a', d: numbers }],
    ['every time zone', Array.from({ length: 600 }, (_, i) => `{{1|date:"%c",d[${i % 400}]}}`).join(''), { d: zones }],
    ['20 filters everywhere', `{{x${'|upcase'.repeat(20)}}}`.repeat(1500), { x: 'a' }],
    ['paths everywhere', `{{x${'.a'.repeat(60)}}}`.repeat(2000), { x: 'a' }],
    ['arguments that are paths', `{{x|replace:y${'[d]'.repeat(2600)},d}}`.repeat(24), { x: 'a', d: 'b' }],
  ])('%s', async (_, body, data) => {
    expect(await cpuMsOf(body, data)).toBeLessThan(threadCpuMsMax);
  });

  it('also when it is only looked at', async () => {
    const body = `{{x${'[d]'.repeat(2700)}}}`.repeat(24);
    const before = process.threadCpuUsage();
    expect(await renderer.check({ subject: null, body }, { owner: 'tnt_b' })).toEqual([]);
    expect(cpuMsSince(before)).toBeLessThan(threadCpuMsMax);
    expect(await renderer.check({ subject: null, body: `${body}{{ a b }}` }, { owner: 'tnt_b' })).toMatchObject([
      { path: 'body', message: expect.stringContaining('unexpected "b') },
    ]);
  });
});

it('what costs more than the main thread has to give is rendered in the worker all the same', async () => {
  const body = '{{ d | upcase | downcase | size }} '.repeat(12);
  const rendered = await renderer.render({ subject: null, body }, { d: text }, { isEmail: false, owner: 'tnt_a' });
  expect(rendered.body).toBe(`${text.length} `.repeat(12));
});

/** A refusal is as good as a text. */
async function cpuMsOf(body: string, data: Record<string, unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  let rendering: unknown;
  try {
    // Its end may be in the worker; what is measured is what it takes here.
    rendering = handingOver.render({ subject: null, body }, data, { isEmail: true, owner: 'tnt_a' });
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
  }
  const ms = cpuMsSince(before);
  await Promise.resolve(rendering).catch((error: unknown) => expect(error).toBeInstanceOf(DomainError));
  return ms;
}

function dataUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
