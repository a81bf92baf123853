// <herald-inbox> before two processes on real engines, each connection of a page at the other one: cut and mended, each notification is shown once.
// Small here; E2E_FIGURES=1 makes it 1,000 notifications and ten cuts, in a plain page, in React's and in Vue's.

import { afterAll, beforeAll, it } from '@jest/globals';

import { showsEachOnce } from './support/cut-network.ts';
import type { InboxPages } from './support/inbox-pages.ts';
import { startInboxPages } from './support/inbox-pages.ts';
import { kinds } from './support/shop.ts';

const isLarge = process.env['E2E_FIGURES'] !== undefined;
const cuts = isLarge ? { rounds: 10, perRound: 100 } : { rounds: 2, perRound: 20 };

let pages: InboxPages;

beforeAll(async () => void (pages = await startInboxPages(2)), 120_000);
afterAll(() => pages?.close(), 60_000);

it.each(isLarge ? kinds : (['plain'] as const))(
  'each notification is shown once, and counted right, in a page of %s, while the network is cut and mended',
  (kind) => showsEachOnce(pages, kind, cuts),
  240_000,
);
