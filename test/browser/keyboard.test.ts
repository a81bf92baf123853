// Every page by keys alone: whatever can be operated is reached by Tab and seen to be, does what it does by Enter or Space, and leaves the focus somewhere;
// dialogs keep it and give it back.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import type { Stage } from './support/dashboard.ts';
import { goTo, setStage } from './support/dashboard.ts';

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
