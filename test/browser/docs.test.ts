// /docs in a browser: accessible (axe) in both colours, on a phone and on a wide screen, as it opens and with a call unfolded, asking nobody else for anything.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { Page } from 'playwright-core';

import { openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';
import { violations } from './support/looks.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.end());

/** What stands out of the page to the side, unless what it is in scrolls by itself; nothing: it is as wide as the screen. */
async function widened(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    const wide = [...document.querySelectorAll('body *')].filter(
      (each) => each.getBoundingClientRect().right > innerWidth + 1,
    );
    return ['wider than the screen', ...wide.slice(0, 8).map((each) => each.outerHTML.slice(0, 120))];
  });
}

it.each([
  ['light', 360],
  ['light', 1440],
  ['dark', 360],
  ['dark', 1440],
] as const)('in %s colours, %i px wide, no rule of axe is broken', async (colorScheme, width) => {
  const { page, hosts, complaints, close } = await openPage(stage.browser, {
    colorScheme,
    viewport: { width, height: 800 },
  });
  await page.goto(`${stage.herald.url}/docs`);
  await page.locator('#operations-Sending-notify, .opblock').first().waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await widened(page)).toEqual([]);
  await page.locator('.opblock-summary-control').first().click();
  await page.locator('.opblock-body').first().waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await widened(page)).toEqual([]);
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const [red = 255] = (/\d+/.exec(ground) ?? []).map(Number);
  expect(colorScheme === 'dark' ? red < 60 : red > 200 || ground === 'rgba(0, 0, 0, 0)').toBe(true);
  expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
  expect(complaints).toEqual([]);
  await close();
});
