// Batches whose texts are filled in: what 60 bytes ask for may be 200 KiB of the log, and 2 ms of the thread.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { sliceLimits } from '../../src/commands/prepare-items.ts';
import type { AppendResult } from '../../src/ports/event-log.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;
let tenant: Awaited<ReturnType<App['tenant']>>;
/** By a clock that stands still otherwise: so many ms does each text hold the thread. */
let [nowMs, renderMs] = [0, 0];
/** Texts that were filled in: all of them, of this turn of the event loop, of the fullest one. */
let [rendered, inTurn, inTurnMost] = [0, 0, 0];
/** What the log answers in place of appending. */
let answer: AppendResult | null = null;

beforeAll(async () => {
  app = await startApp({
    delivers: false,
    folds: false,
    replace: ({ log: own, clock, renderer }) => ({
      clock: { ...clock, monotonic: () => nowMs },
      renderer: {
        ...renderer,
        render(...args) {
          [nowMs, rendered] = [nowMs + renderMs, rendered + 1];
          if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
          inTurnMost = Math.max(inTurnMost, inTurn);
          return renderer.render(...args);
        },
      },
      log: {
        ...own,
        append: (event) => (answer === null ? own.append(event) : Promise.resolve(answer)),
        appendAll: async (events) => {
          const instead = answer;
          return instead === null ? own.appendAll(events) : events.map(() => instead);
        },
      },
    }),
  });
  tenant = await app.tenant('owner');
  for (const [name, kib] of [
    ['long', 60],
    ['short', 0],
  ] as const) {
    const body = `Hello {{ n }} ${'x'.repeat(kib * 1024)}`;
    expect((await tenant.dashboard('POST', '/templates', { name, channel: 'IN_APP', body })).status).toBe(201);
  }
}, 60_000);
afterAll(() => app.close());

const items = 500;
const post = (template: string, keys: string | null) => {
  [rendered, inTurnMost] = [0, 0];
  const notifications = Array.from({ length: items }, (_, n) => ({
    channel: 'IN_APP',
    recipient: `r${n}`,
    template,
    data: { n },
    ...(keys === null ? {} : { idempotencyKey: `${keys}-${n}` }),
  }));
  return tenant.withKey('POST', '/notify/batch', { notifications });
};

describe.each([
  ['without keys', false],
  ['with keys', true],
])('a batch of one template, %s', (_form, isKeyed) => {
  const keys = (of: string): string | null => (isKeyed ? of : null);

  it('is accepted whole, however much longer than its items it becomes: the log has little of it at a time', async () => {
    const { status, body } = await post('long', keys('long'));
    expect([status, body.accepted, body.results.find(({ code }: { code?: string }) => code !== undefined)]).toEqual([
      202,
      items,
      undefined,
    ]);
  }, 60_000);

  it('lets everybody else have a turn after each few ms, however long its texts take', async () => {
    renderMs = 1;
    const { body } = await post('short', keys('dear'));
    renderMs = 0;
    expect(body.accepted).toBe(items);
    // Of each of two flushes.
    expect(inTurnMost).toBeLessThanOrEqual(2 * sliceLimits.heldMs);
  }, 60_000);

  it('fills nothing in behind what the log didn’t take', async () => {
    answer = { kind: 'refused', reason: 'it is full' };
    const { status } = await post('long', keys('away'));
    answer = null;
    expect(status).toBe(503);
    expect(rendered).toBeLessThanOrEqual(20);
  }, 60_000);
});
