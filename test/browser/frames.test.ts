// Frames by the browser's own trace: while a long list is scrolled, and while 500 notifications a second change under the live counters. It prints them; what
// the clock says holds on a machine that does nothing else: FRAMES_STRICT=1 checks it, DASHBOARD_ROWS=100000 gives it a log to show.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

const rows = Number(process.env['DASHBOARD_ROWS'] ?? 2000);
const isStrict = process.env['FRAMES_STRICT'] === '1';
const batchMax = 2000;
const scrolledPx = 20_000;
const pxPerSecond = 4000;
const changesPerSecond = 500;
const changingForMs = isStrict ? 20_000 : 3000;
const beatMs = 100;
let stage: Stage;

beforeAll(async () => {
  stage = await setStage({ ITEM_LIMIT: '1000000/10s' });
  for (let sent = 0; sent < rows; sent += batchMax) await send(Math.min(batchMax, rows - sent));
}, 600_000);
afterAll(() => stage.end());

async function send(count: number): Promise<void> {
  const notifications = Array.from({ length: count }, (_, i) => ({
    channel: 'IN_APP',
    recipient: `user-${i % 50}`,
    body: 'x',
  }));
  const headers = { 'x-api-key': stage.herald.apiKey };
  const { status } = await stage.herald.call('POST', '/api/v1/notify/batch', { body: { notifications }, headers });
  expect(status).toBe(202);
}

interface Frames {
  readonly drawn: number;
  /** The display had its turn, and what had changed wasn't there in time. */
  readonly dropped: number;
  readonly perSecond: number;
  /** Between two that were drawn. */
  readonly longestGapMs: number;
}

/** Of what happens meanwhile. */
async function traced(page: Page, happens: () => Promise<unknown>): Promise<Frames> {
  await stage.browser.startTracing(page, {
    categories: ['disabled-by-default-devtools.timeline.frame', 'devtools.timeline.frame'],
  });
  await happens();
  const trace = JSON.parse((await stage.browser.stopTracing()).toString()) as {
    traceEvents: { name: string; ts: number }[];
  };
  const timesOf = (name: string) =>
    trace.traceEvents
      .filter((event) => event.name === name)
      .map(({ ts }) => ts / 1000)
      .sort((a, b) => a - b);
  const drawn = timesOf('DrawFrame');
  const tookMs = (drawn.at(-1) ?? 0) - (drawn[0] ?? 0);
  return {
    drawn: drawn.length,
    dropped: timesOf('DroppedFrame').length,
    perSecond: tookMs === 0 ? 0 : ((drawn.length - 1) / tookMs) * 1000,
    longestGapMs: Math.max(0, ...drawn.slice(1).map((at, i) => at - (drawn[i] ?? at))),
  };
}

function said(what: string, { drawn, dropped, perSecond, longestGapMs }: Frames): void {
  const figures = `${drawn} drawn, ${dropped} dropped, ${perSecond.toFixed(1)} a second, longest gap ${longestGapMs.toFixed(0)} ms`;
  console.log(`${what}: ${figures}`);
}

it('a long list is scrolled by as many frames as the display has', async () => {
  const { page, close } = await stage.open('notifications');
  const list = page.getByRole('region', { name: 'Notifications' });
  await page.locator('tbody tr:not(.space)').first().waitFor();
  const box = await list.boundingBox();
  const at = { x: (box?.x ?? 0) + 200, y: (box?.y ?? 0) + 200 };
  const session = await page.context().newCDPSession(page);
  const frames = await traced(page, () =>
    session.send('Input.synthesizeScrollGesture', { ...at, yDistance: -scrolledPx, speed: pxPerSecond }),
  );
  said(`${rows} rows, ${scrolledPx} px`, frames);
  expect(await list.evaluate((element) => element.scrollTop)).toBeGreaterThan(scrolledPx / 2);
  expect(frames.drawn).toBeGreaterThan(20);
  if (isStrict) expect(frames.perSecond).toBeGreaterThan(55);
  await close();
}, 120_000);

it('live counters follow 500 changes a second, and the page goes on drawing', async () => {
  const { page, close } = await stage.open('');
  const total = page.locator('.tile').first().locator('b');
  const known = async () => Number((await total.innerText()).replaceAll(/\D/g, ''));
  await until(async () => (await known()) >= rows, { everyMs: 50, timeoutMs: 60_000, what: 'all to be counted' });
  const before = await known();
  let sent = 0;
  const frames = await traced(page, async () => {
    const endsAt = performance.now() + changingForMs;
    for (let due = performance.now(); due < endsAt; due += beatMs) {
      await delay(Math.max(0, due - performance.now()));
      const count = (changesPerSecond * beatMs) / 1000;
      await send(count);
      sent += count;
    }
  });
  await until(async () => (await known()) === before + sent, { everyMs: 50, what: 'every one to be counted' });
  said(`${sent} requested in ${changingForMs} ms`, frames);
  expect(frames.drawn).toBeGreaterThan(5);
  if (isStrict) expect(frames.longestGapMs).toBeLessThan(500);
  await close();
}, 120_000);
