// The renderer on liquidjs: the contract, agreement with liquidjs itself, and what becomes of its worker.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Liquid } from 'liquidjs';
import { createTemplateRenderer } from '../../../src/adapters/liquid/template-renderer.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import type { TemplateRenderer } from '../../../src/ports/template-renderer.ts';
import { templateRendererContract } from '../../contracts/template-renderer.ts';
import fc from '../../support/properties.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
/** These judge what templates take, and that is processor time: a busy machine takes long for it. */
const patience = { renderMsMax: 60_000, queueMsMax: 60_000, workerStartMsMax: 60_000 };
const nowMs = Date.UTC(2026, 10, 21, 12, 30);

templateRendererContract('liquidjs', () => ({
  renderer: createTemplateRenderer({ logger: silent, clock: { now: () => nowMs }, patience }),
  nowMs,
}));

describe('where both know a template, it renders as liquidjs renders it', () => {
  const renderer = createTemplateRenderer({ logger: silent, patience });
  const liquid = new Liquid({ ownPropertyOnly: true, strictFilters: true });
  afterAll(() => renderer.close());

  const value = fc.oneof(
    fc.string(),
    fc.integer({ min: -1000, max: 1000 }),
    fc.double({ min: -1000, max: 1000, noNaN: true }),
    fc.boolean(),
    fc.constant(null),
  );
  const data = fc.record(
    { a: value, b: fc.record({ c: value, list: fc.array(value) }), list: fc.array(value) },
    { requiredKeys: [] },
  );
  const path = fc.constantFrom(
    'a',
    'b.c',
    'b.list[0]',
    'list[1]',
    'list.first',
    'list.last',
    'list.size',
    'b.size',
    'none',
    'b["c"]',
    '"text"',
    '12',
    'true',
  );
  const filter = fc.constantFrom(
    '',
    '| upcase',
    '| downcase',
    '| capitalize',
    '| strip',
    '| truncate: 5',
    '| truncate: a, "."',
    '| replace: "a", b.c',
    '| escape',
    '| newline_to_br',
    '| default: a',
    '| json',
    '| size',
    '| first',
    '| last',
    '| join: ", "',
    '| round',
    '| round: 2',
    '| plus: a',
    '| minus: 3',
    '| times: b.c',
    '| divided_by: 4',
    '| url_encode',
  );
  const output = fc.tuple(path, filter, filter).map((parts) => `{{ ${parts.join(' ')} }}`);
  const piece = fc.oneof(
    output,
    fc.constantFrom(
      ' text ',
      '{ } % ',
      '{%- assign x = a -%} ',
      '{{ b.list }}',
      '{{ b.list | join: "-" }}{{ list | size }}{{ list | first }}',
      '{% if b.c %}x{% endif %}',
      '{% for i in list %}{{ i }},{% endfor %}',
    ),
  );

  it('property', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), data, async (pieces, data) => {
        const body = pieces.join('');
        const expected = liquid.parseAndRenderSync(body, data) as string;
        expect((await renderer.render({ subject: null, body }, data, { isEmail: false, owner: 'tnt_a' })).body).toBe(
          expected,
        );
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the worker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-liquid-'));
  let renderer: TemplateRenderer;
  let logged: string[] = [];
  const logger: Logger = {
    ...silent,
    warn: (message) => logged.push(message),
    error: (message) => logged.push(message),
  };
  const withWorker = (code: string): TemplateRenderer => {
    const file = join(folder, `${randomUUID()}.mjs`);
    writeFileSync(file, `import { parentPort } from 'node:worker_threads';\n${code}`);
    return createTemplateRenderer({ logger, workerUrl: pathToFileURL(file), patience });
  };
  const render = async (body: string, owner = 'tnt_a'): Promise<string> =>
    (await renderer.render({ subject: null, body }, {}, { isEmail: false, owner })).body;
  const tagged = (text: string): string => `{% if true %}${text}{% endif %}`;
  const readyThen = (onJob: string): string =>
    `parentPort.on('message', (job) => { ${onJob} }); parentPort.postMessage({ kind: 'ready' });`;

  beforeAll(() => {
    logged = [];
  });
  afterEach(async () => {
    await renderer.close();
    logged = [];
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('that uses up its memory costs the template that did it, and no other', async () => {
    renderer = withWorker(
      readyThen(
        `if (job.source.includes('bomb')) { const held = []; for (;;) held.push(new Array(100_000).fill(held.length)); } parentPort.postMessage({ kind: 'rendered', text: 'fine', missing: [] });`,
      ),
    );
    const [bomb, other] = await Promise.allSettled([render(tagged('bomb')), render(tagged('other'))]);
    expect(bomb).toMatchObject({
      status: 'rejected',
      reason: {
        code: 'BAD_REQUEST',
        details: [{ path: 'body', message: expect.stringMatching(/takes too (much memory|long) to render/) }],
      },
    });
    expect(other).toEqual({ status: 'fulfilled', value: 'fine' });
  });

  it('that crashes is replaced; what it was rendering may be tried again', async () => {
    renderer = withWorker(
      readyThen(
        `if (job.source.includes('crash')) throw new Error('bug'); parentPort.postMessage({ kind: 'rendered', text: 'fine', missing: [] });`,
      ),
    );
    await expect(render(tagged('crash'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await render(tagged('other'))).toBe('fine');
    expect(logged).toEqual(['the template worker failed']);
  });

  it('that does not start: 503, and outputs alone go on', async () => {
    renderer = withWorker(`throw new Error('no start');`);
    await expect(render(tagged('x'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await render('{{ "x" }}')).toBe('x');
  });

  it('has a queue with an end, of which one owner gets a quarter', async () => {
    renderer = withWorker(`parentPort.postMessage({ kind: 'ready' });`);
    const flood = Array.from({ length: 70 }, (_, i) => render(tagged(`flood ${i}`)));
    const others = Array.from({ length: 250 }, (_, i) => render(tagged(String(i)), `tnt_${i}`));
    const settled = Promise.allSettled([...flood, ...others]);
    // One runs, 64 of its owner wait; then 192 others find room.
    await expect(flood.at(-1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 });
    await expect(others.at(-1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await renderer.close();
    const outcomes = (await settled).map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as Error).message : 'rendered',
    );
    expect(outcomes.filter((message) => message.includes('Too many'))).toHaveLength(70 - 65 + (250 - 192));
    expect(outcomes.filter((message) => message.includes('stopping'))).toHaveLength(65 + 192);
  });

  it('that is held up by a slow template gets help: others are rendered meanwhile', async () => {
    renderer = withWorker(
      readyThen(
        `if (job.source.includes('slow')) for (;;); parentPort.postMessage({ kind: 'rendered', text: 'fine', missing: [] });`,
      ),
    );
    // Both threads are there, and loaded.
    const first = render(tagged('slow 1')).catch(() => undefined);
    await Promise.all([first, render(tagged('waits'))]);
    await Promise.all([render(tagged('a')), render(tagged('b'))]);
    const order: string[] = [];
    const slow = render(tagged('slow 2')).catch(() => order.push('slow'));
    const others = Array.from({ length: 5 }, (_, i) => render(tagged(`${i}`), 'tnt_b').then(() => order.push('other')));
    await Promise.all([slow, ...others]);
    expect(order).toEqual(['other', 'other', 'other', 'other', 'other', 'slow']);
  });

  it('renders what broke a limit not once more, also when it waited already', async () => {
    renderer = withWorker(
      readyThen(
        `if (job.source.includes('slow')) for (;;); parentPort.postMessage({ kind: 'rendered', text: 'fine', missing: [] });`,
      ),
    );
    const flood = await Promise.allSettled(Array.from({ length: 60 }, () => render(tagged('slow'))));
    expect(flood.every(({ status }) => status === 'rejected')).toBe(true);
    await expect(render(tagged('slow'))).rejects.toMatchObject({
      details: [{ message: expect.stringContaining('takes too long to render') }],
    });
    // Both threads may have had it at the same time.
    expect(logged.length).toBeLessThanOrEqual(2);
  });

  it('renders a source with other data, of which one was too much; of these the latest 16 are remembered', async () => {
    renderer = withWorker(
      readyThen(
        `if (job.data.n > 0) for (;;); parentPort.postMessage({ kind: 'rendered', text: 'fine', missing: [] });`,
      ),
    );
    const withData = async (n: number, owner = 'tnt_a'): Promise<string> =>
      (await renderer.render({ subject: null, body: tagged('x') }, { n }, { isEmail: false, owner })).body;
    const refusedAgain = async (n: number): Promise<boolean> => {
      const before = logged.length;
      await expect(withData(n)).rejects.toThrow(
        /takes too long to render: shorter lists in data or a simpler template/,
      );
      return logged.length === before;
    };
    for (let n = 1; n <= 17; n++) expect(await refusedAgain(n)).toBe(false);
    expect(await withData(0)).toBe('fine');
    expect(await refusedAgain(17)).toBe(true);
    expect(await refusedAgain(2)).toBe(true);
    expect(await refusedAgain(1)).toBe(false);
  });

  it('knows nothing of the environment', async () => {
    renderer = withWorker(
      readyThen(`parentPort.postMessage({ kind: 'rendered', text: JSON.stringify(process.env), missing: [] });`),
    );
    expect(await render(tagged('x'))).toBe('{}');
  });

  it('is gone after close, and templates with tags are refused', async () => {
    renderer = createTemplateRenderer({ logger, patience });
    expect(await render(tagged('x'))).toBe('x');
    await renderer.close();
    await expect(render(tagged('x'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await render('{{ "x" }}')).toBe('x');
  });
});
