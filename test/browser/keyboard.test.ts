// Every page by keys alone: whatever can be operated is reached by Tab and seen to be, does what it does by Enter or Space, and leaves the focus somewhere;
// dialogs keep it and give it back.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';
import { violations } from './support/looks.ts';

let stage: Stage;
let failedId: string;
let templateId: string;

beforeAll(async () => {
  stage = await setStage({ RETRY_DELAYS: '1ms' });
  const { herald } = stage;
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  await herald.notify({ channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'later', sendAt });
  const failed = await herald.notify({ channel: 'WEBHOOK', recipient: 'http://127.0.0.1:9/x', body: 'x' });
  failedId = String(failed.body['notificationId']);
  const template = { name: 'welcome', channel: 'EMAIL', subject: 'Hi', body: '<p>Hi {{ name }}</p>' };
  templateId = String((await herald.dashboard('POST', '/templates', template)).body['id']);
  await herald.dashboard('POST', '/keys', { name: 'shop', scopes: ['notify'] });
  await herald.dashboard('POST', '/suppressions', { channel: 'EMAIL', recipient: 'off@example.com' });
  const config = { fromName: 'Acme', fromEmail: 'hello@acme.example' };
  const provider = { channel: 'EMAIL', provider: 'resend', apiKey: 're_8mQk2Vt5x9Qz', config };
  await herald.dashboard('POST', '/providers', provider);
  await until(async () => {
    const { body } = await herald.dashboard('GET', `/notifications/${failedId}`);
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
  'templates/:t',
  'providers',
  'keys',
  'settings',
];
const addressOf = (at: string) => at.replace(':id', failedId).replace(':t', templateId);

/** What it asked for has come, and nothing follows. */
async function atRest(page: Page): Promise<void> {
  await until(async () => !(await page.locator('main').innerText()).includes('Loading…'), { everyMs: 50 });
  await page.waitForLoadState('load');
  let former = '';
  await until(
    async () => {
      const now = await page.locator('#app').innerHTML();
      const isSame = now === former;
      former = now;
      return isSame;
    },
    { everyMs: 150 },
  );
}

/** What a hand could operate, by a name; what a tab list holds counts as one. */
const operable = `a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, summary, [tabindex="0"]`;

async function unreached(page: Page): Promise<string[]> {
  await page.evaluate((selector) => {
    const reached = new Set<Element>();
    const hidden: string[] = [];
    Object.assign(globalThis, {
      noteFocus() {
        const { activeElement: at } = document;
        if (at === null || at === document.body) return 'end';
        if (reached.has(at) && !(at instanceof HTMLInputElement)) return 'again';
        reached.add(at);
        const { outlineStyle, boxShadow } = getComputedStyle(at);
        const isSeen = outlineStyle !== 'none' || boxShadow !== 'none' || at instanceof HTMLIFrameElement;
        if (!isSeen) hidden.push(`not seen: ${at.outerHTML.slice(0, 80)}`);
        return '';
      },
      leftOut() {
        const all = [...document.querySelectorAll<HTMLElement>(selector)];
        const left = all.filter((element) => {
          const tabs = element.closest('[role=tablist]');
          if (reached.has(element) || !element.checkVisibility({ visibilityProperty: true })) return false;
          return tabs === null || ![...reached].some((each) => tabs.contains(each));
        });
        return [...hidden, ...left.map((element) => element.outerHTML.slice(0, 100))];
      },
    });
  }, operable);
  for (let press = 0; press < 250; press++) {
    await page.keyboard.press('Tab');
    const said = await page.evaluate(() => (globalThis as unknown as { noteFocus(): string }).noteFocus());
    if (said === 'end' || said === 'again') break;
  }
  return page.evaluate(() => (globalThis as unknown as { leftOut(): string[] }).leftOut());
}

describe('by Tab from the top', () => {
  it.each(pages)('all of /%s is reached, and where the focus is can be seen', async (at) => {
    const watched = await stage.open(addressOf(at));
    // Anew: the first Tab begins at the top.
    await watched.page.reload();
    await watched.page.getByRole('heading', { level: 1 }).waitFor();
    await atRest(watched.page);
    expect(await unreached(watched.page)).toEqual([]);
    await watched.close();
  });
});

/** Ends the session: the page is gone then. */
const leaves = 'Sign out';

describe('by Enter', () => {
  it.each(pages)('every button of /%s does something, and the focus stays in the page', async (at) => {
    const watched = await stage.open(addressOf(at));
    const { page, close } = watched;
    await atRest(page);
    const buttons = () => page.locator('button:not(:disabled):not([aria-selected=true]):visible');
    const names = (await buttons().allInnerTexts()).filter((name) => name !== leaves);
    let requests = 0;
    page.on('request', () => void requests++);
    for (const name of new Set(names)) {
      await goTo(watched, at === 'keys' ? 'send' : 'keys');
      await goTo(watched, addressOf(at));
      await atRest(page);
      // What one button has done may have taken another away: sent again, it has not failed any more.
      const button = buttons().filter({ hasText: name }).first();
      if ((await button.count()) === 0) continue;
      const before = [await page.locator('body').innerHTML(), requests, page.url()];
      await button.focus();
      await page.keyboard.press('Enter');
      await until(
        async () => {
          const now = [await page.locator('body').innerHTML(), requests, page.url()];
          // A form that lacks something leads to the field.
          const isLed = await page.evaluate(() => document.activeElement?.matches(':invalid') ?? false);
          return isLed || now.some((each, i) => each !== before[i]);
        },
        { everyMs: 50, what: `${name} to do something` },
      );
      if ((await page.locator('dialog[open]').count()) > 0) {
        for (let press = 0; press < 12; press++) {
          await page.keyboard.press('Tab');
          const isInside = await page.evaluate(
            () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
          );
          expect([name, isInside]).toEqual([name, true]);
        }
        await page.keyboard.press('Escape');
        await page.locator('dialog[open]').waitFor({ state: 'detached' });
        const back = await page.evaluate(() => document.activeElement?.textContent);
        expect(back?.replaceAll(/\s+/g, ' ')).toContain(name.replaceAll(/\s+/g, ' '));
      }
      await atRest(page);
      await until(() => page.evaluate(() => document.activeElement !== document.body), {
        everyMs: 50,
        what: `the focus after ${name}`,
      });
    }
    await close();
  });
});

/** What opens each dialog that needs nothing but a button, where. */
const dialogs = [
  ['keys', 'New key'],
  ['keys', 'Replace…'],
  ['keys', 'Revoke shop'],
  ['providers', 'Edit'],
  ['providers', 'Test'],
  ['providers', 'Delete'],
  ['providers', 'Set up SMS'],
  ['settings', 'Exchange it…'],
  ['templates/:t', 'Delete'],
  ['notifications?status=FAILED', 'Retry all that are found…'],
] as const;

describe('in a dialog', () => {
  it.each(dialogs)(
    'of /%s, "%s", the keys reach all of it and nothing behind it, and come back out; axe finds nothing, in light and dark',
    async (at, opener) => {
      const { page, close } = await stage.open(addressOf(at));
      await atRest(page);
      const button = page.getByRole('button', { name: opener, exact: true }).first();
      const dialog = page.locator('dialog[open]');
      const reached = () =>
        page.evaluate((selector) => {
          const inside = [...document.querySelectorAll<HTMLElement>(`dialog[open] :is(${selector})`)];
          const all = inside.filter((element) => element.checkVisibility({ visibilityProperty: true }));
          const { activeElement: on } = document;
          // Between the last and the first the browser's own controls have their turn.
          const place =
            on === document.body || on?.matches('dialog') === true ? -1 : all.findIndex((each) => each === on);
          return { place, of: all.length, isBehind: on !== document.body && on?.closest('dialog') == null };
        }, operable);
      for (const key of ['Tab', 'Shift+Tab']) {
        await button.focus();
        await page.keyboard.press('Enter');
        await dialog.waitFor();
        await until(async () => !/Loading…|Counting…/.test(await dialog.innerText()), { everyMs: 50 });
        await page.emulateMedia({ colorScheme: key === 'Tab' ? 'light' : 'dark' });
        expect(await violations(page)).toEqual([]);
        const { of } = await reached();
        const seen = new Set<number>();
        // Twice around, whatever stands between the ends.
        for (let press = 0; press < 2 * (of + 3); press++) {
          await page.keyboard.press(key);
          const now = await reached();
          expect([key, now.isBehind]).toEqual([key, false]);
          if (now.place >= 0) seen.add(now.place);
        }
        expect([key, seen.size]).toEqual([key, of]);
        if (key === 'Tab') await page.keyboard.press('Escape');
        else {
          await dialog.getByRole('button', { name: 'Close', exact: true }).focus();
          await page.keyboard.press('Enter');
        }
        await dialog.waitFor({ state: 'detached' });
        expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
      }
      await close();
    },
  );

  it('what is erased is asked for by keys alone, and the focus is where one goes on', async () => {
    const { page, close } = await stage.open('settings');
    await atRest(page);
    const field = page.getByLabel('Recipient to erase');
    await field.focus();
    await page.keyboard.type('nobody@example.com');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Erase this recipient?' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Erase it for good' }).focus();
    await page.keyboard.press('Space');
    await page.getByText(/^Done: 0 of 0 erased/).waitFor();
    expect(await page.evaluate(() => document.activeElement?.closest('section')?.textContent)).toContain(
      'Erase a recipient',
    );
    await close();
  });
});
