// Secrets that are shown once: whatever happens while one is made, the person has it in the end, and receivers go on with the one that they know.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';

import type { HttpSink, SinkRequest } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { setStage } from './support/dashboard.ts';

let stage: Stage;
let sink: HttpSink;
let isStopped = false;

beforeAll(async () => {
  sink = await startHttpSink();
  stage = await setStage({ RETRY_DELAYS: '1ms' });
});
afterAll(async () => {
  await stage.end({ isStopped });
  await sink.close();
});

interface Saved {
  readonly channel: string;
  readonly config: object;
  readonly enabled: boolean;
}

async function saved(): Promise<Saved | undefined> {
  const { body } = await stage.herald.dashboard('GET', '/providers');
  return (body as unknown as Saved[]).find(({ channel }) => channel === 'WEBHOOK');
}

/** Whether a receiver that knows this secret takes what is sent now. */
async function signsNow(secret: string): Promise<boolean> {
  const { body } = await stage.herald.notify({ channel: 'WEBHOOK', recipient: `${sink.url}/hook`, body: 'An order' });
  const isOf = (request: SinkRequest) => request.body.includes(String(body['notificationId']));
  await until(() => sink.requests.some(isOf), { everyMs: 50, what: 'the webhook' });
  const request = sink.requests.find(isOf);
  try {
    new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

const shown = (page: Page) => page.getByRole('region', { name: 'Secret', exact: true });
const exchange = async (page: Page) => {
  await page.getByRole('button', { name: 'Exchange it…' }).click();
  await page.getByRole('button', { name: 'Make a new one' }).click();
};

it('a webhook secret is one for a dialog, however often it is asked for since an answer was lost', async () => {
  const known = String((await stage.herald.dashboard('GET', '/tenant')).body['webhookSecret']);
  const { page, close } = await stage.open('settings');
  const sent: string[] = [];
  await page.route('**/api/v1/providers', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    sent.push(String((route.request().postDataJSON() as { apiKey: unknown }).apiKey));
    if (sent.length > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await exchange(page);
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Make a new one' }).click();
  const next = (await shown(page).innerText()).trim();
  expect(sent).toEqual([next, next]);
  expect([await signsNow(next), await signsNow(known)]).toEqual([true, true]);
  await close();
});

it('what else the provider says stays, and where that cannot be told nothing is exchanged', async () => {
  const config = { retryMissing: true, maxPerSecond: 5 };
  const one = { channel: 'WEBHOOK', provider: 'custom', apiKey: 'a secret of sixteen or more', config };
  expect((await stage.herald.dashboard('POST', '/providers', one)).status).toBe(200);
  const { page, close } = await stage.open('');
  const busy = { code: 'SERVICE_UNAVAILABLE', error: 'Busy.', details: [], requestId: 'req_x' };
  let isBusy = true;
  await page.route('**/api/v1/providers', (route) =>
    isBusy && route.request().method() === 'GET' ? route.fulfill({ status: 503, json: busy }) : route.continue(),
  );
  await page.evaluate(() => void (location.hash = '#/settings'));
  await page.getByText('Busy.').waitFor();
  await exchange(page);
  await page.getByRole('dialog').getByText('Busy.').waitFor();
  expect(await signsNow(`whsec_${btoa(one.apiKey)}`)).toBe(true);
  isBusy = false;
  await page.getByRole('button', { name: 'Make a new one' }).click();
  await shown(page).waitFor();
  expect(await saved()).toMatchObject({ config, enabled: true });
  await close();
});

it('one that is disabled does not sign, and what exchanges it says that it is enabled', async () => {
  const one = { channel: 'WEBHOOK', provider: 'custom', apiKey: 'a secret of sixteen or more', enabled: false };
  expect((await stage.herald.dashboard('POST', '/providers', one)).status).toBe(200);
  const { page, close } = await stage.open('settings');
  await page.getByText('Every tenant has one;').waitFor();
  await page.getByRole('button', { name: 'Exchange it…' }).click();
  await page.getByRole('dialog').getByText('Your own secret is disabled.').waitFor();
  await page.getByRole('button', { name: 'Make a new one' }).click();
  await shown(page).waitFor();
  expect(await saved()).toMatchObject({ enabled: true });
  await close();
});

it('Escape ends no dialog that makes a secret or shows it', async () => {
  const { page, close } = await stage.open('settings');
  const isAsked = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  await page.route('**/api/v1/{providers,keys}', async (route) => {
    if (route.request().method() === 'POST') {
      isAsked.resolve();
      await goesOn.promise;
    }
    return route.continue();
  });
  const pressed = async () => {
    for (let press = 0; press < 3; press++) await page.keyboard.press('Escape');
    expect(await page.getByRole('button', { name: 'Close', exact: true }).isDisabled()).toBe(true);
  };
  await exchange(page);
  await isAsked.promise;
  await pressed();
  goesOn.resolve();
  await shown(page).waitFor();
  await pressed();
  const next = (await shown(page).innerText()).trim();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await signsNow(next)).toBe(true);

  await page.evaluate(() => void (location.hash = '#/keys'));
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('shop');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('region', { name: 'API key' }).waitFor();
  await pressed();
  expect(await page.getByRole('region', { name: 'API key' }).innerText()).toMatch(/^nk_/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await close();
});

it('a dialog stays where what the page reads meanwhile is refused', async () => {
  const [settings, keys] = [await stage.open('settings'), await stage.open('keys')];
  await exchange(settings.page);
  await shown(settings.page).waitFor();
  await keys.page.getByRole('button', { name: 'Replace…' }).click();
  for (const { page } of [settings, keys])
    await page.route('**/api/v1/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }));
  isStopped = true;
  await stage.herald.stop();
  for (const { page } of [settings, keys]) {
    await page.locator('main').getByText('The answer was 502').first().waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
  }
  expect(await shown(settings.page).innerText()).toMatch(/^whsec_/);
  await settings.close();
  await keys.close();
});
