// A page with an inbox whose network is cut and mended again and again while notifications keep coming: each is shown once, and counted right.

import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

import { until } from '../../support/until.ts';
import type { InboxPages } from './inbox-pages.ts';
import { counts, open, to } from './inbox-pages.ts';
import type { Kind } from './shop.ts';

interface Cuts {
  readonly rounds: number;
  /** Two fifths of them come before the cut, three while it lasts. */
  readonly perRound: number;
}

export async function showsEachOnce(pages: InboxPages, kind: Kind, { rounds, perRound }: Cuts): Promise<void> {
  const { send, show, proxy, herald } = pages;
  const [user, total] = [`cut-${kind}`, rounds * perRound];
  await send([to(user, 'before')]);
  const { page, complaints, close } = await show(kind, user);
  await counts(page, 1);
  const told = await listenTo(page);
  for (let round = 0; round < rounds; round++) {
    const batch = Array.from({ length: perRound }, (_, i) => to(user, `n${round * perRound + i}`));
    await send(batch.slice(0, perRound * 0.4));
    proxy.cut();
    await send(batch.slice(perRound * 0.4));
    proxy.mend();
    await counts(page, (round + 1) * perRound + 1);
  }
  await open(page);
  await showOlderOnes(page);
  const bodies = await page
    .locator('herald-inbox')
    .evaluate((inbox) =>
      [...(inbox.shadowRoot?.querySelectorAll('.body') ?? [])].map(({ textContent }) => textContent),
    );
  expect(bodies).toHaveLength(total + 1);
  expect(new Set(bodies).size).toBe(total + 1);
  expect(await page.title()).toBe(String(total + 1));
  const { arrived, unread } = await told();
  expect([arrived.length, new Set(arrived).size]).toEqual([total, total]);
  expect(Math.max(...unread)).toBe(total + 1);
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await counts(page, 0);
  expect((await herald.request('GET /notify/inapp/{userId}', { path: { userId: user } })).unreadCount).toBe(0);
  expect(complaints).toEqual([]);
  await close();
}

/** The newest 500 of what has come are held. */
async function showOlderOnes(page: Page): Promise<void> {
  const older = page.getByRole('button', { name: 'Older ones' });
  const rows = page.getByRole('dialog').getByRole('listitem');
  while (await older.isVisible()) {
    const before = await rows.count();
    await older.click();
    await until(async () => (await rows.count()) > before || !(await older.isVisible()), { what: 'older ones' });
  }
}

/** What the element tells of from now on: items that have come, by id, and the unread counts one after another. */
async function listenTo(page: Page) {
  const told = await page.locator('herald-inbox').evaluateHandle((inbox) => {
    const all: { arrived: string[]; unread: number[] } = { arrived: [], unread: [] };
    inbox.addEventListener('herald-notification', (event) => {
      if (event instanceof CustomEvent) all.arrived.push(event.detail.id);
    });
    inbox.addEventListener('herald-unread', (event) => {
      if (event instanceof CustomEvent) all.unread.push(event.detail.count);
    });
    return all;
  });
  return () => told.jsonValue();
}
