// What is asked for again and again is shown though its answers take longer than the time between two questions, or one never comes.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import { openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.end());

/** What the page gave up can't be gone on with. */
const slow = (page: Page, path: string, ms: number) =>
  page.route(path, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await route.continue().catch(() => undefined);
  });

it('how far a job is', async () => {
  const { page, close } = await stage.open('settings');
  await slow(page, '**/api/v1/jobs/*', 1300);
  const region = page.getByRole('region', { name: 'Erase a recipient' });
  await region.getByLabel('Channel').selectOption('IN_APP');
  await region.getByLabel('Recipient to erase').fill('gone');
  await region.getByRole('button', { name: 'Erase…' }).click();
  await page.getByRole('button', { name: 'Erase it for good' }).click();
  await region.getByText(/^Done/).waitFor({ timeout: 12_000 });
  await close();
});

it('the figures of the overview, while something changes', async () => {
  const { page, close } = await openPage(stage.browser);
  await slow(page, '**/api/v1/dashboard/stats?*', 5500);
  await slow(page, '**/api/v1/dashboard/failures?*', 5500);
  await page.goto(stage.link);
  const timer = setInterval(() => void stage.herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' }), 250);
  await page.locator('.tile b', { hasNotText: '–' }).first().waitFor({ timeout: 15_000 });
  await page.getByText('Nothing has failed.').waitFor({ timeout: 5000 });
  clearInterval(timer);
  await close();
});

describe('where one is never answered', () => {
  /** The first call of the path. */
  async function unanswered(page: Page, path: string, method: string) {
    const asked: string[] = [];
    await page.route(path, async (route) => {
      const isOther = route.request().method() !== method;
      if (!isOther) asked.push(path);
      if (isOther || asked.length > 1) await route.continue();
    });
    return () => until(() => asked.length > 0, { everyMs: 50, what: 'the question' });
  }

  it('how far a job is', async () => {
    const { page, close } = await stage.open('settings');
    await page.clock.install();
    const isAsked = await unanswered(page, '**/api/v1/jobs/*', 'GET');
    const region = page.getByRole('region', { name: 'Erase a recipient' });
    await region.getByLabel('Channel').selectOption('IN_APP');
    await region.getByLabel('Recipient to erase').fill('gone, too');
    await region.getByRole('button', { name: 'Erase…' }).click();
    await page.getByRole('button', { name: 'Erase it for good' }).click();
    await isAsked();
    await page.clock.fastForward(31_000);
    await region.getByText(/^Done/).waitFor({ timeout: 12_000 });
    await close();
  });

  it('a dialog that is kept ends its wait, says so and can be closed', async () => {
    const { page, close } = await stage.open('keys');
    await page.clock.install();
    const isAsked = await unanswered(page, '**/api/v1/keys', 'POST');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('shop');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await isAsked();
    expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true);
    await page.clock.fastForward(61_000);
    await dialog.getByRole('alert').getByText('can’t be reached').waitFor({ timeout: 12_000 });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await close();
  });
});
