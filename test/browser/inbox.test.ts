// <herald-inbox> in a real Chromium, in pages of another origin: each notification once whatever the network does, counts right, nothing of it can do harm.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';

import { openPage } from './support/chromium.ts';
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

describe('what attacks', () => {
  it('is shown as text: nothing runs, nothing is loaded, and links lead to http and https alone', async () => {
    const script = '<script>document.title="run"</script><img src="http://evil.invalid/x" onerror="document.title=1">';
    await pages.send([
      to('attacked', script, { subject: script, data: { url: 'javascript:document.title="run"' } }),
      to('attacked', 'x'.repeat(190_000), {
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
      isWide: (shadowRoot?.querySelector('.panel')?.scrollWidth ?? 0) > 360,
    }));
    expect(seen).toEqual({
      links: [['https://acme.example/orders/17', 'noopener noreferrer', '_blank']],
      active: 0,
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

  it('the script is at most 15 kB as it is transferred, and comes with a declaration', async () => {
    const { page, close } = await openPage(pages.browser);
    await page.goto(`${pages.shop.origin}/plain?server=${encodeURIComponent(pages.seenAt)}&user=size`);
    const size = await page.evaluate(() => {
      const [entry] = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/inbox.js'));
      return entry === undefined ? null : entry.name;
    });
    expect(size).toBe(`${pages.seenAt}/inbox.js`);
    const answer = await fetch(`${pages.service.url}/inbox.js`, { headers: { 'accept-encoding': 'br' } });
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect(Number(answer.headers.get('content-length'))).toBeLessThanOrEqual(15_000);
    expect(await (await fetch(`${pages.service.url}/inbox.d.ts`)).text()).toContain('interface HeraldInboxElement');
    await close();
  });
});
