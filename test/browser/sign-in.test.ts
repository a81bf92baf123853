// Signing in to the dashboard: the link of the banner, a pasted token, and a token that ends under an open page.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { openPage } from './support/chromium.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.end());

describe('signing in', () => {
  it('is done by the link that the start prints, which leaves no token in the address', async () => {
    const { page, complaints, hosts, close } = await openPage(stage.browser);
    await page.goto(stage.link);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(true);
    expect(page.url()).not.toContain('token');
    expect([...hosts]).toEqual([new URL(stage.herald.url).host]);
    expect(complaints).toEqual([]);
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await close();
  });

  it('is done by the link in a tab that shows the dashboard as well', async () => {
    const { page, close } = await stage.open('keys');
    const anew = page.waitForEvent('load');
    await page.evaluate((hash) => void (location.hash = hash), `token=${stage.link.split('#token=')[1]}`);
    await anew;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(page.url()).not.toContain('token');
    await close();
  });

  it('says why a token is refused that never was taken', async () => {
    const { page, close } = await openPage(stage.browser);
    await page.goto(stage.link.replace(/[^.]+$/, 'forged'));
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .getByText(/bearer token/)
      .waitFor();
    await close();
  });

  it('is done by a token that is pasted, and one that is none is told so', async () => {
    const { page, close } = await openPage(stage.browser);
    await page.goto(`${stage.herald.url}/dashboard#/keys`);
    const field = page.getByLabel('Bearer token');
    await field.fill('abc');
    await field.press('Enter');
    await page.getByRole('alert').getByText('That is no bearer token').waitFor();
    await field.fill(stage.link.split('#token=')[1] ?? '');
    await field.press('Enter');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await close();
  });

  it('is asked for again when the token has ended, and the page goes on where it was', async () => {
    const { page, close } = await openPage(stage.browser);
    await page.goto(stage.link);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('kept name');
    // From here on the service takes the token for one that has ended.
    let ended = true;
    await page.route('**/api/v1/**', (route) =>
      ended
        ? route.fulfill({
            status: 401,
            json: { code: 'UNAUTHORIZED', error: 'The bearer token is not valid.', details: [], requestId: 'req_1' },
          })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('heading', { name: 'Your sign-in has ended' }).waitFor();
    ended = false;
    const token = stage.link.split('#token=')[1] ?? '';
    await page.getByLabel('Bearer token').fill(token.replace(/[^.]+$/, 'forged'));
    await page.getByRole('button', { name: 'Sign in with it' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByLabel('Bearer token').fill(token);
    await page.getByRole('button', { name: 'Sign in with it' }).click();
    await page.getByRole('heading', { name: 'The key kept name' }).waitFor();
    await close();
  });
});
