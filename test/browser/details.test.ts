// What a page says of numbers and times, and what it puts into the clipboard.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { chromium } from 'playwright-core';

import { until } from '../support/until.ts';
import { chromiumArguments, chromiumPath, openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.end());

it('the overview has the latencies of each lane with their units, what was delivered, and what waits', async () => {
  const sent = await stage.herald.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x', priority: 'HIGH' });
  const id = String(sent.body['notificationId']);
  await until(async () => {
    const { body } = await stage.herald.dashboard('GET', `/notifications/${id}`);
    return (body['notification'] as { status: string }).status === 'DELIVERED';
  });
  const { page, close } = await stage.open('');
  const lanes = page.getByRole('region', { name: 'By priority: the table' });
  const row = async (name: string) =>
    (await lanes.getByRole('row', { name }).innerText()).split('\t').map((cell) => cell.trim());
  await until(async () => (await row('High'))[4] === '1', { everyMs: 50, what: 'the lane' });
  const [, ...high] = await row('High');
  for (const latency of high.slice(0, 3)) expect(latency).toMatch(/^[\d.]+ m?s$/);
  expect(high.slice(3, 6)).toEqual(['1', '0', '0']);
  expect((await row('Bulk'))[4]).toBe('0');
  await close();
});

it('a time is of the viewer’s zone, with UTC beside it', async () => {
  await stage.herald.notify({ channel: 'IN_APP', recipient: 'bo', body: 'x' });
  const { page, close } = await stage.open('notifications', { timezoneId: 'Asia/Kolkata' });
  const time = page.locator('tbody time').first();
  await time.waitFor();
  const at = new Date((await time.getAttribute('datetime')) ?? '');
  const local = new Date(at.getTime() + 5.5 * 3_600_000).toISOString().replace('T', ' ').slice(0, 19);
  const utc = at.toISOString().replace('T', ' ').slice(0, 23);
  expect(await time.getAttribute('title')).toBe(`${local} here, ${utc} UTC`);
  await close();
});

it('a key that is made is copied by a click, as it is', async () => {
  const { page, close } = await stage.open('keys', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('copied');
  await page.getByRole('button', { name: 'Make it' }).click();
  const key = (await page.getByRole('region', { name: 'API key' }).innerText()).trim();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied.').waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
  await close();
});

it('by plain http from another machine a test is sent, and where nothing can be copied it is said', async () => {
  const args = [...chromiumArguments(), '--host-resolver-rules=MAP herald.test 127.0.0.1'];
  const browser = await chromium.launch({ executablePath: chromiumPath(), args });
  const { page } = await openPage(browser);
  await page.goto(stage.link.replace('127.0.0.1', 'herald.test'));
  await page.getByRole('link', { name: 'Send', exact: true }).click();
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.getByRole('region', { name: 'Shell' }).waitFor();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByText('The browser did not let it be copied: select the text.').waitFor();
  await page.getByLabel('Recipient').fill('ada');
  await page.getByLabel('Body').fill('x');
  await page.getByRole('button', { name: 'Send it' }).click();
  await page.getByRole('heading', { name: 'It is accepted' }).waitFor();
  await browser.close();
});
