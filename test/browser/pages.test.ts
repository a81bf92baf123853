// Every page of the dashboard, light and dark, on a phone and on a wide screen: accessible (axe), within its width, asking nobody else for anything, and light to load.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import { openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let stage: Stage;
let notificationId: string;

beforeAll(async () => {
  stage = await setStage({ RETRY_DELAYS: '1ms' });
  const { herald } = stage;
  for (const recipient of ['ada', 'bo', 'cy'])
    await herald.notify({ channel: 'IN_APP', recipient, subject: 'Hello', body: 'A first notification' });
  const failed = await herald.notify({
    channel: 'WEBHOOK',
    recipient: 'http://127.0.0.1:9/x',
    body: 'x',
    data: { a: 1 },
  });
  notificationId = String(failed.body['notificationId']);
  await herald.dashboard('POST', '/templates', {
    name: 'welcome',
    channel: 'EMAIL',
    subject: 'Hi',
    body: '<p>Hi {{ name }}</p>',
  });
  await herald.dashboard('POST', '/keys', { name: 'shop', scopes: ['notify'] });
  await herald.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: 'off@example.com' });
  const config = { fromName: 'Acme', fromEmail: 'hello@acme.example' };
  await herald.dashboard('POST', '/providers', {
    channel: 'EMAIL',
    provider: 'resend',
    apiKey: 're_8mQk2Vt5x9Qz',
    config,
  });
  await herald.notify({ channel: 'IN_APP' });
  await until(async () => {
    const { body } = await herald.dashboard('GET', `/notifications/${notificationId}`);
    return (body['notification'] as { status: string }).status === 'FAILED';
  });
});
afterAll(() => stage.end());

const pages = [
  '',
  'notifications',
  'notifications/:id',
  'send',
  'templates',
  'templates/new',
  'providers',
  'keys',
  'settings',
];

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it.each([360, 1440])(
    '%i px wide no page breaks a rule of axe, is wider than the screen, or asks another host',
    async (width) => {
      const watched = await stage.open('', { colorScheme, viewport: { width, height: 800 } });
      const { page, hosts, complaints } = watched;
      for (const at of pages) {
        await goTo(watched, at.replace(':id', notificationId));
        await settled(page);
        expect([at, await violations(page)]).toEqual([at, []]);
        expect([at, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)]).toEqual([at, true]);
      }
      expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
      expect(complaints).toEqual([]);
      await watched.close();
    },
  );
});

describe('the first page', () => {
  it('comes to 80 kB at most, packed, from this host alone, and nothing on it moves', async () => {
    const { page, close } = await openPage(stage.browser);
    await page.goto(stage.link);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await settled(page);
    const { bytes, shift } = await page.evaluate(
      () =>
        new Promise<{ bytes: number; shift: number }>((resolve) => {
          const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
          const ours = (files as PerformanceResourceTiming[]).filter(({ name }) => !name.includes('/api/'));
          const bytes = ours.reduce((sum, { transferSize }) => sum + transferSize, 0);
          new PerformanceObserver((list) => {
            const shifts = list.getEntries() as (PerformanceEntry & { readonly value: number })[];
            resolve({ bytes, shift: shifts.reduce((sum, { value }) => sum + value, 0) });
          }).observe({ type: 'layout-shift', buffered: true });
          // Where nothing has moved the observer says nothing.
          setTimeout(() => resolve({ bytes, shift: 0 }), 200);
        }),
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(80_000);
    // 0.1 is what the web calls good.
    expect(shift).toBeLessThan(0.05);
    await close();
  });
});

/** Whatever it asked for is shown. */
async function settled(page: Page): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await until(async () => !(await page.locator('main').innerText()).includes('Loading…'), { everyMs: 50 });
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as { axe: { run(at: Document, options: object): Promise<AxeResults> } };
    const found = await run.run(document, { resultTypes: ['violations'] });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100)).join(', ')}`);
  });
}
