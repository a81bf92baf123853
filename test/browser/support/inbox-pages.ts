// Pages of a shop with a <herald-inbox> in them, before one or more processes of a service that a balancer with a network's faults stands before.

import type { Page } from 'playwright-core';
import { expect } from '@jest/globals';

import type { BatchItem } from '../../../clients/typescript/src/index.ts';
import { createHerald } from '../../../clients/typescript/src/index.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import { makeDataDir, startHerald } from '../../support/herald.ts';
import { launchChromium, openPage } from './chromium.ts';
import type { Kind } from './shop.ts';
import { startShop } from './shop.ts';

export type InboxPages = Awaited<ReturnType<typeof startInboxPages>>;

const environment = { RATE_LIMIT: '100000/10s', ITEM_LIMIT: '100000/10s', READ_LIMIT: '100000/10s' };

/** @param processes each further connection of a page is to the next one */
export async function startInboxPages(processes: number) {
  const opened: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of opened.toReversed()) await closeOne();
  };
  try {
    return { ...(await openAll(processes, opened)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openAll(processes: number, opened: (() => Promise<unknown>)[]) {
  const dataDir = await makeDataDir();
  opened.push(dataDir.remove);
  const shop = await startShop();
  opened.push(shop.close);
  const start = async () => {
    const service = await startHerald(dataDir, { ...environment, CORS_ORIGINS: shop.origin });
    opened.push(service.stop);
    return service;
  };
  const first = await start();
  const services = [first];
  while (services.length < processes) services.push(await start());
  let connections = 0;
  const hostOfNext = () => new URL((services[connections++ % services.length] ?? first).url).host;
  const proxy = await startFaultyProxy({ target: hostOfNext });
  opened.push(proxy.close);
  const browser = await launchChromium();
  opened.push(() => browser.close());
  const seenAt = `http://${proxy.address}`;
  const clients = services.map(({ url }) => createHerald({ url, apiKey: first.apiKey }));
  const [herald = createHerald(first)] = clients;
  shop.open({ url: first.url, apiKey: first.apiKey, seenAt });
  let sent = 0;

  return {
    shop,
    browser,
    service: first,
    proxy,
    /** Where the pages find the service. */
    seenAt,
    herald,

    /** By each process in turn; all of them are taken. */
    async send(items: readonly BatchItem[]): Promise<void> {
      const client = clients[sent++ % clients.length] ?? herald;
      expect((await client.notifyBatch(items)).results.filter((result) => 'error' in result)).toEqual([]);
    },

    async show(kind: Kind, user: string, options: Parameters<typeof openPage>[1] = {}) {
      const opened = await openPage(browser, options);
      await opened.page.goto(`${shop.origin}/${kind}?server=${encodeURIComponent(seenAt)}&user=${user}`);
      await opened.page.locator('herald-inbox').waitFor({ state: 'attached' });
      return opened;
    },
  };
}

export const to = (recipient: string, body: string, more: object = {}): BatchItem => ({
  channel: 'IN_APP',
  recipient,
  subject: `Title of ${body}`,
  body,
  ...more,
});

export const counts = (page: Page, count: number) =>
  page.waitForFunction((wanted) => document.querySelector('herald-inbox')?.unreadCount === wanted, count);

export const bell = (page: Page) => page.getByRole('button', { name: /^Notifications/ });

export const open = async (page: Page) => {
  await bell(page).click();
  await page.getByRole('dialog').waitFor();
};
