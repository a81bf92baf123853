// <herald-inbox> in a real Chromium, in pages of another origin: each notification once whatever the network does, counts right, nothing of it can do harm.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { until } from '../support/until.ts';
import { beHidden, openPage } from './support/chromium.ts';
import { showsEachOnce } from './support/cut-network.ts';
import type { InboxPages } from './support/inbox-pages.ts';
import { bell, counts, open, startInboxPages, to } from './support/inbox-pages.ts';
import { kinds } from './support/shop.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

let pages: InboxPages;

beforeAll(async () => void (pages = await startInboxPages(1)));
afterAll(() => pages?.close());

const rows = (page: Page) => page.getByRole('dialog').getByRole('listitem');

describe('while the network is cut and mended ten times', () => {
  it.each(kinds)(
    'each of 1,000 notifications is shown once, and counted right, in a page of %s',
    (kind) => showsEachOnce(pages, kind, { rounds: 10, perRound: 100 }),
    120_000,
  );
});

describe('an inbox', () => {
  it('shows what is there, comes to the older ones, and follows what is read elsewhere', async () => {
    await pages.send(Array.from({ length: 45 }, (_, i) => to('pages', `p${i}`)));
    const { page, close } = await pages.show('plain', 'pages');
    await counts(page, 45);
    await open(page);
    expect(await rows(page).count()).toBe(20);
    await page.getByRole('button', { name: 'Older ones' }).click();
    await rows(page).nth(39).waitFor();
    await page.getByRole('button', { name: 'Older ones' }).click();
    await rows(page).nth(44).waitFor();
    expect(await page.getByRole('button', { name: 'Older ones' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Mark as read: Title of p7', exact: true }).click();
    await counts(page, 44);
    const other = await pages.show('plain', 'pages');
    await open(other.page);
    await other.page.getByRole('button', { name: 'Mark all as read' }).click();
    await counts(page, 0);
    expect(await page.getByRole('button', { name: /^Mark/ }).count()).toBe(0);
    await other.close();
    await close();
  });

  it('is used by the keyboard alone', async () => {
    await pages.send([to('keys', 'one'), to('keys', 'two')]);
    const { page, close } = await pages.show('plain', 'keys');
    await counts(page, 2);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.getByText('one', { exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await counts(page, 1);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await bell(page).evaluate((button) => (button.getRootNode() as ShadowRoot).activeElement === button)).toBe(
      true,
    );
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.getByText('one', { exact: true }).waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await counts(page, 0);
    await close();
  });

  it('asks for another token before one ends, and goes on', async () => {
    pages.shop.lasting(3);
    const before = pages.shop.asked();
    const { page, complaints, close } = await pages.show('plain', 'ends');
    await pages.send([to('ends', 'first')]);
    await counts(page, 1);
    await page.waitForFunction(
      (since) => performance.now() > since + 4000,
      await page.evaluate(() => performance.now()),
    );
    await pages.send([to('ends', 'after its end')]);
    await counts(page, 2);
    expect(pages.shop.asked() - before).toBeGreaterThanOrEqual(2);
    expect(complaints).toEqual([]);
    pages.shop.lasting(3600);
    await close();
  });

  it.each([
    ['at the beginning', 1],
    ['when one is to be renewed', 2],
  ])('gets over a backend that answers a page in place of a token %s', async (_, bad) => {
    const user = `bad-${bad}`;
    pages.shop.lasting(3);
    await pages.send([to(user, 'before')]);
    const { page, close } = await openPage(pages.browser);
    let asked = 0;
    await page.route('**/my-inbox-token*', (route) =>
      ++asked === bad ? route.fulfill({ status: 502, body: '<html>\r\n502 Bad Gateway\r\n</html>' }) : route.continue(),
    );
    await page.goto(`${pages.shop.origin}/plain?server=${encodeURIComponent(pages.seenAt)}&user=${user}`);
    await counts(page, 1);
    await until(() => asked > bad, { what: 'another token' });
    await pages.send([to(user, 'after')]);
    await counts(page, 2);
    pages.shop.lasting(3600);
    await close();
  });

  it('asks who is set to give tokens for the one that it waits for', async () => {
    await pages.send([to('late', 'a')]);
    const { page, close } = await openPage(pages.browser);
    const path = { userId: 'late' };
    const [short, good] = await Promise.all(
      [1, 600].map((expiresInSeconds) =>
        pages.herald.request('POST /notify/inapp/{userId}/token', { path, body: { expiresInSeconds } }),
      ),
    );
    await page.goto(`${pages.shop.origin}/plain?server=${encodeURIComponent(pages.seenAt)}&user=nobody`);
    await counts(page, 0);
    await page.evaluate(
      ([server, token]) => {
        document.querySelector('herald-inbox')?.remove();
        const inbox = document.createElement('herald-inbox');
        Object.assign(inbox, { server, token });
        inbox.addEventListener('herald-token', (event) => {
          if (event instanceof CustomEvent) document.title = `after ${event.detail.last}`;
        });
        document.querySelector('#app')?.append(inbox);
      },
      [pages.seenAt, short?.token],
    );
    await page.waitForFunction((token) => document.title === `after ${token}`, short?.token);
    await page.evaluate((token) => {
      const inbox = document.querySelector('herald-inbox');
      const getToken = (last: string | null) => {
        document.title = `given after ${last}`;
        return token ?? '';
      };
      Object.assign(inbox ?? {}, { getToken });
    }, good?.token);
    await page.waitForFunction((token) => document.title === `given after ${token}`, short?.token);
    await pages.send([to('late', 'b')]);
    await counts(page, 2);
    await close();
  });

  it('tells that nothing is unread where it begins anew for another person', async () => {
    await pages.send([to('first', 'a'), to('first', 'b')]);
    const { page, close } = await pages.show('plain', 'first');
    await page.waitForFunction(() => document.title === '2');
    const { token } = await pages.herald.request('POST /notify/inapp/{userId}/token', { path: { userId: 'second' } });
    await page.evaluate((of) => Object.assign(document.querySelector('herald-inbox') ?? {}, { token: of }), token);
    await page.waitForFunction(() => document.title === '0');
    await pages.send([to('second', 'c')]);
    await page.waitForFunction(() => document.title === '1');
    await close();
  });

  it('says that the service is away, and goes on when it is back', async () => {
    const { page, close } = await pages.show('plain', 'away');
    await open(page);
    await page.getByText('Nothing here yet.').waitFor();
    pages.proxy.cut();
    await page.getByText('The connection was lost').waitFor();
    await pages.send([to('away', 'meanwhile')]);
    pages.proxy.mend();
    await page.getByText('meanwhile', { exact: true }).waitFor();
    expect(await page.getByText('The connection was lost').count()).toBe(0);
    await close();
  });
});

it('eight tabs of one browser work over HTTP/1.1: those that nobody sees give their connections back, and miss nothing', async () => {
  await pages.send([to('tabs', 'a'), to('tabs', 'b')]);
  const { page: first, close } = await openPage(pages.browser);
  const address = `${pages.shop.origin}/plain?server=${encodeURIComponent(pages.seenAt)}&user=tabs`;
  const tabs: Page[] = [];
  for (let i = 0; i < 8; i++) {
    const tab = i === 0 ? first : await first.context().newPage();
    await tab.addInitScript(beHidden, i > 0);
    await tab.goto(address);
    await counts(tab, 2);
    tabs.push(tab);
  }
  const last = tabs[7] ?? first;
  await first.evaluate(beHidden, true);
  await last.evaluate(beHidden, false);
  await first.waitForFunction(
    (since) => performance.now() > since + 6000,
    await first.evaluate(() => performance.now()),
  );
  await pages.send([to('tabs', 'c')]);
  await counts(last, 3);
  expect(await first.evaluate(() => document.querySelector('herald-inbox')?.unreadCount)).toBe(2);
  await first.evaluate(beHidden, false);
  await counts(first, 3);
  expect(await last.evaluate(() => document.querySelector('herald-inbox')?.markRead())).toBeUndefined();
  await counts(first, 0);
  await close();
});

describe('what attacks', () => {
  it('is shown as text: nothing runs, nothing is loaded, and links lead to http and https alone', async () => {
    const script = '<script>document.title="run"</script><img src="http://evil.invalid/x" onerror="document.title=1">';
    await pages.send([
      to('attacked', script, { subject: script, data: { url: 'javascript:document.title="run"' } }),
      // The longest body there is.
      to('attacked', 'x'.repeat(200 * 1024), {
        subject: 'long',
        data: { url: 'data:text/html,<script>alert(1)</script>' },
      }),
      to('attacked', '\u202egnp.exe\u200b\u200d\ufeff', { data: { url: 'https://acme.example/orders/17' } }),
    ]);
    const { page, hosts, complaints, close } = await pages.show('plain', 'attacked', {
      viewport: { width: 360, height: 740 },
    });
    await counts(page, 3);
    await open(page);
    await page.getByText('<script>').first().waitFor();
    const seen = await page.locator('herald-inbox').evaluate(({ shadowRoot }) => ({
      links: [...(shadowRoot?.querySelectorAll('a') ?? [])].map(({ href, rel, target }) => [href, rel, target]),
      active: shadowRoot?.querySelectorAll('script, img, iframe, object, embed, form, style').length,
      // What turns a text turns that text alone.
      isolated: [...(shadowRoot?.querySelectorAll('.title, .body') ?? [])].every(
        (text) => getComputedStyle(text).unicodeBidi === 'isolate' && text.getAttribute('dir') === 'auto',
      ),
      isWide: (shadowRoot?.querySelector('.panel')?.scrollWidth ?? 0) > 360,
    }));
    expect(seen).toEqual({
      links: [['https://acme.example/orders/17', 'noopener noreferrer', '_blank']],
      active: 0,
      isolated: true,
      isWide: false,
    });
    expect(await page.title()).toBe('3');
    expect([...hosts].toSorted()).toEqual([new URL(pages.shop.origin).host, pages.proxy.address].toSorted());
    expect(complaints).toEqual([]);
    await close();
  });
});

describe('for everybody', () => {
  it.each([
    ['light', 360],
    ['light', 1440],
    ['dark', 360],
    ['dark', 1440],
  ] as const)('axe finds nothing in %s, %i px wide', async (colorScheme, width) => {
    await pages.send([to('axe', 'one', { data: { url: 'https://acme.example/' } }), to('axe', 'two')]);
    const opened = await openPage(pages.browser, { colorScheme, viewport: { width, height: 800 } });
    const { page } = opened;
    await page.goto(`${pages.shop.origin}/example`);
    await pages.send([to('example', colorScheme, { data: { url: 'https://acme.example/' } })]);
    await page.waitForFunction(() => (document.querySelector('herald-inbox')?.unreadCount ?? 0) > 0);
    await open(page);
    await page.evaluate(readFileSync(axePath, 'utf8'));
    const violations = await page.evaluate(async () => {
      const { axe } = window as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      };
      return (await axe.run()).violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
    });
    expect(violations).toEqual([]);
    expect(opened.complaints).toEqual([]);
    await opened.close();
  });

  it('looks as the page says, by each custom property and each part that docs/inbox.md names', async () => {
    const named = readFileSync(new URL('../../docs/inbox.md', import.meta.url), 'utf8');
    const properties = [...new Set(named.match(/--herald-[\w-]+/g))];
    const [, list = ''] = /by its parts: ([^.]+)\./.exec(named) ?? [];
    const parts = [...list.matchAll(/`([\w-]+)`/g)].map(([, part]) => part ?? '');
    expect([properties.length, parts.length]).toEqual([14, 17]);
    await pages.send([to('themed', 'one', { data: { url: 'https://acme.example/' } }), to('themed', 'two')]);
    const { page, close } = await pages.show('plain', 'themed');
    await counts(page, 2);
    await open(page);
    await rows(page).nth(1).waitFor();
    const without = await page.locator('herald-inbox').evaluate(withoutEffect, { properties, parts });
    expect(without).toEqual([]);
    await close();
  });

  it('the script is at most 15 kB as the browser has it transferred, and comes with a declaration', async () => {
    const { page, close } = await openPage(pages.browser);
    const session = await page.context().newCDPSession(page);
    const urls = new Map<string, string>();
    const transferred = new Map<string, number>();
    session.on('Network.responseReceived', ({ requestId, response }) => void urls.set(requestId, response.url));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
      transferred.set(urls.get(requestId) ?? '', encodedDataLength),
    );
    await session.send('Network.enable');
    await page.goto(`${pages.shop.origin}/plain?server=${encodeURIComponent(pages.seenAt)}&user=size`);
    const bytes = await until(() => transferred.get(`${pages.seenAt}/inbox.js`), { what: 'the script' });
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThanOrEqual(15_000);
    expect(await (await fetch(`${pages.service.url}/inbox.d.ts`)).text()).toContain('interface HeraldInboxElement');
    await close();
  });
});

/** In the page: what is set of the element's looks without anything in it looking otherwise. */
function withoutEffect(
  inbox: HTMLElement,
  { properties, parts }: { readonly properties: readonly string[]; readonly parts: readonly string[] },
): string[] {
  const values: Readonly<Record<string, string>> = {
    '--herald-radius': '3px',
    '--herald-width': '20rem',
    '--herald-height': '9rem',
    '--herald-shadow': '0 0 1px rgb(1, 2, 3)',
    '--herald-font': '20px serif',
    '--herald-z-index': '7',
  };
  const shown = [
    'color',
    'background-color',
    'border-top-color',
    'border-bottom-color',
    'border-radius',
    'width',
  ].concat(['max-height', 'box-shadow', 'font-size', 'z-index']);
  const looks = (): string =>
    [...(inbox.shadowRoot?.querySelectorAll('*') ?? [])]
      .flatMap((one) => shown.map((name) => getComputedStyle(one).getPropertyValue(name)))
      .join();
  const before = looks();
  const idle = properties.filter((name) => {
    inbox.style.setProperty(name, values[name] ?? 'rgb(1, 2, 3)');
    const after = looks();
    inbox.style.removeProperty(name);
    return after === before;
  });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(parts.map((part) => `herald-inbox::part(${part}) { outline-color: rgb(1, 2, 3); }`).join(''));
  document.adoptedStyleSheets = [sheet];
  const missing = parts.filter((part) => {
    const one = inbox.shadowRoot?.querySelector(`[part~='${part}']`) ?? null;
    return one === null || getComputedStyle(one).outlineColor !== 'rgb(1, 2, 3)';
  });
  return [...idle, ...missing];
}
