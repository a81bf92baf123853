// The dashboard while things happen: many changes at once, many rows, and a service that stops and starts under an open page.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { freePort } from '../support/free-ports.ts';
import type { Herald } from '../support/herald.ts';
import { startHerald } from '../support/herald.ts';
import { until } from '../support/until.ts';
import { beHidden, openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

/** DASHBOARD_ROWS=100000 for what a large log does to the list; it takes minutes to fill. */
const rows = Number(process.env['DASHBOARD_ROWS'] ?? 3000);
const batchMax = 3000;
let stage: Stage;
let port: string;
/** The one that is started after the first was stopped. */
let second: Herald | null = null;

beforeAll(async () => {
  port = String(await freePort());
  stage = await setStage({ PORT: port, ITEM_LIMIT: '1000000/10s' });
});
afterAll(async () => {
  await second?.stop();
  await stage.end({ isStopped: second !== null });
});

async function sendMany(count: number, about: string): Promise<void> {
  for (let sent = 0; sent < count; sent += batchMax) {
    const items = Array.from({ length: Math.min(batchMax, count - sent) }, (_, i) => ({
      channel: 'IN_APP',
      recipient: `user-${(sent + i) % 50}`,
      subject: `${about} ${sent + i}`,
      body: 'x',
    }));
    const { status } = await stage.herald.call('POST', '/api/v1/notify/batch', {
      body: { notifications: items },
      headers: { 'x-api-key': stage.herald.apiKey },
    });
    expect(status).toBe(202);
  }
}

const totalOf = (page: Page) => page.locator('.tile').first().locator('b').innerText();
const asNumber = (text: string) => Number(text.replaceAll(/\D/g, ''));

it('counts follow thousands of changes, and the page goes on drawing meanwhile', async () => {
  const { page, close } = await stage.open('');
  await until(async () => /^\d/.test(await totalOf(page)), { everyMs: 50 });
  await page.evaluate(() => {
    const seen = { longestMs: 0, frames: 0 };
    (globalThis as unknown as { seen: typeof seen }).seen = seen;
    let last = performance.now();
    const frame = (now: number) => {
      seen.longestMs = Math.max(seen.longestMs, now - last);
      seen.frames += 1;
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await sendMany(rows, 'Live');
  await until(async () => asNumber(await totalOf(page)) === rows, { everyMs: 50, what: 'every one to be counted' });
  const seen = await page.evaluate(
    () => (globalThis as unknown as { seen: { longestMs: number; frames: number } }).seen,
  );
  expect(seen.frames).toBeGreaterThan(20);
  // A machine that does ten other things is slow; a page that is frozen is slower.
  expect(seen.longestMs).toBeLessThan(2000);
  await close();
});

it('of thousands of rows a screen is in the document, and what is looked at stays where it is while others come in', async () => {
  const { page, close } = await stage.open('notifications');
  const list = page.getByRole('region', { name: 'Notifications' });
  await page.locator('tbody tr:not(.space)').first().waitFor();
  let former = -1;
  await until(
    async () => {
      const top = await list.evaluate((element) => (element.scrollTop = element.scrollHeight) && element.scrollTop);
      const isEnd = top === former;
      former = top;
      return isEnd && !(await list.innerText()).includes('Loading…');
    },
    { everyMs: 100, timeoutMs: 50_000 + rows * 10, what: 'the end of the list' },
  );
  await page.locator(`tr[aria-rowindex="${rows + 1}"]`).waitFor();
  expect(await page.locator('tbody tr').count()).toBeLessThan(80);
  await list.evaluate((element) => (element.scrollTop = 20_000));
  const looked = page.locator('tbody tr:not(.space)').nth(15).locator('a');
  const href = (await looked.getAttribute('href')) ?? '';
  const before = await page.locator(`a[href="${href}"]`).boundingBox();
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'newest', subject: 'Newest', body: 'x' });
  await until(
    async () => (await page.locator('.head .note').innerText()).includes((rows + 1).toLocaleString('en-US')),
    { everyMs: 50 },
  );
  const after = await page.locator(`a[href="${href}"]`).boundingBox();
  expect(after?.y).toBe(before?.y);
  await list.evaluate((element) => (element.scrollTop = 0));
  await page.getByRole('link', { name: 'newest' }).waitFor();
  await close();
});

it('what comes while the first stream is being opened is shown, and nothing is read twice where it is open first', async () => {
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'before', body: 'x' });
  const { page, close } = await stage.open('notifications');
  let reads = 0;
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.endsWith('/tenant')) reads += 1;
  });
  await page.reload();
  await page.getByRole('link', { name: 'before' }).waitFor();
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'followed', body: 'x' });
  await page.getByRole('link', { name: 'followed' }).waitFor();
  expect(reads).toBe(1);
  const opening = Promise.withResolvers<void>();
  await page.route('**/api/v1/dashboard/stream', async (route) => {
    await opening.promise;
    await route.continue();
  });
  await page.reload();
  await page.getByRole('link', { name: 'followed' }).waitFor();
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'between', body: 'x' });
  opening.resolve();
  await page.getByRole('link', { name: 'between' }).waitFor();
  await close();
});

it('a page that nobody sees gives its stream back, and takes it up where it was left once it is seen', async () => {
  const { page, close } = await stage.open('notifications');
  await page.clock.install();
  const [opened, ended]: [(string | undefined)[], string[]] = [[], []];
  const isStream = (url: string) => url.endsWith('/dashboard/stream');
  page.on('request', (request) => {
    if (isStream(request.url())) opened.push(request.headers()['last-event-id']);
  });
  page.on('requestfailed', (request) => {
    if (isStream(request.url())) ended.push(request.url());
  });
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'seen', body: 'x' });
  await page.getByRole('link', { name: 'seen' }).waitFor();
  ended.length = 0;
  await page.evaluate(beHidden, true);
  await page.clock.fastForward(6000);
  await until(() => ended.length === 1, { everyMs: 50, what: 'the end of the stream' });
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'meanwhile', body: 'x' });
  await page.clock.fastForward(60_000);
  expect(await page.locator('.offline').count()).toBe(0);
  expect(opened).toEqual([undefined]);
  await page.evaluate(beHidden, false);
  await page.getByRole('link', { name: 'meanwhile' }).waitFor();
  expect(opened).toEqual([undefined, expect.stringMatching(/./)]);
  await close();
});

it('a stream whose opening is never answered is opened again', async () => {
  const { page, close } = await openPage(stage.browser);
  await page.clock.install();
  let opened = 0;
  await page.route('**/api/v1/dashboard/stream', (route) => (++opened === 1 ? undefined : route.continue()));
  await page.goto(stage.link);
  await until(() => opened === 1, { everyMs: 50, what: 'the first opening' });
  await page.clock.fastForward(41_000);
  await until(() => opened === 2, { everyMs: 50, what: 'another opening' });
  await close();
});

it('a stream that is refused is said to be, and nothing is read anew until it is open', async () => {
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'anybody', body: 'x' });
  const { page, close } = await stage.open('');
  let [refusals, reads] = [0, 0];
  const stream = '**/api/v1/dashboard/stream';
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.endsWith('/notifications')) reads += 1;
  });
  await page.route(stream, (route) => {
    refusals += 1;
    const refusal = { code: 'TOO_MANY_REQUESTS', error: 'A tenant has at most 200 open streams.', details: [] };
    return route.fulfill({ status: 429, json: { ...refusal, requestId: 'req_1' } });
  });
  await page.reload();
  await page.getByRole('link', { name: 'Notifications', exact: true }).click();
  await page.locator('tbody tr:not(.space)').first().waitFor();
  await page.locator('.offline', { hasText: 'A tenant has at most 200 open streams.' }).waitFor();
  const [refusedBefore, readBefore] = [refusals, reads];
  await until(() => refusals >= refusedBefore + 3, { everyMs: 50, what: 'further tries' });
  expect(reads).toBe(readBefore);
  await page.unroute(stream);
  await page.locator('.offline').waitFor({ state: 'detached' });
  await until(() => reads > readBefore, { everyMs: 50, what: 'the list to be read anew' });
  await close();
});

it('a service that is stopped is said to be away, and once it is back the page has what it missed', async () => {
  const { page, close } = await stage.open('notifications');
  await page.locator('tbody tr:not(.space)').first().waitFor();
  await stage.herald.stop();
  await page.locator('.offline').waitFor();
  second = await startHerald(stage.dataDir, { PORT: port });
  await second.notify({ channel: 'IN_APP', recipient: 'came-back', body: 'x' });
  await page.locator('.offline').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'came-back' }).waitFor();
  await close();
});
