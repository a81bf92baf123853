// Pages of lists end by their bytes: 1 MiB at most, one item at least, and the cursor goes on right behind.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Tenant = Awaited<ReturnType<App['tenant']>>;

const pageBytesMax = 1024 * 1024;
/** The longest that is accepted, nearly. */
const body = 'é'.repeat(95 * 1024);
const count = 12;

let app: App;
let tenant: Tenant;
const newestFirst: string[] = [];

beforeAll(async () => {
  app = await startApp();
  tenant = await app.tenant('pages');
  for (let i = 0; i < count; i++) {
    const { body: accepted } = await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body, subject: `n ${i}` });
    newestFirst.unshift(accepted.notificationId);
  }
  await until(async () => (await tenant.withKey('GET', '/notify/inapp/ada?limit=1')).body.unreadCount === count, {
    what: 'all items',
  });
});

afterAll(() => app.close());

interface Seen {
  readonly ids: string[];
  readonly perPage: number[];
}

/** Page after page; each within its bytes. */
async function allPages(ask: (cursor: string) => Promise<Reply>, first = ''): Promise<Seen> {
  const seen: Seen = { ids: [], perPage: [] };
  let cursor = first;
  do {
    const page = (await ask(cursor)).body;
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(pageBytesMax);
    const items: readonly { readonly id: string; readonly notificationId?: string }[] = page.data ?? page.notifications;
    seen.ids.push(...items.map(({ id, notificationId }) => notificationId ?? id));
    seen.perPage.push(items.length);
    const next: string | null = page.pagination === undefined ? page.nextCursor : page.pagination.nextCursor;
    cursor = next === null ? '' : `&cursor=${next}`;
  } while (cursor !== '');
  return seen;
}

describe('a page of 195 KiB items', () => {
  it('of the records ends at 1 MiB; by cursor each is seen once, in order', async () => {
    const seen = await allPages((cursor) => tenant.dashboard('GET', `/notifications?limit=100${cursor}`));
    expect(seen.ids).toEqual(newestFirst);
    expect(Math.max(...seen.perPage)).toBeGreaterThan(1);
    const { body: page } = await tenant.dashboard('GET', '/notifications?limit=100');
    expect(page.pagination).toMatchObject({ limit: 100, total: count, totalPages: 1 });
  });

  it('by number begins at its row whatever the bytes before it, and its cursor goes on where it was cut', async () => {
    const { body: page } = await tenant.dashboard('GET', '/notifications?limit=6&page=2');
    expect(page.data[0].id).toBe(newestFirst[6]);
    const { length } = page.data;
    expect(length).toBeLessThan(6);
    const cursor = `&cursor=${page.pagination.nextCursor}`;
    const rest = await allPages((of) => tenant.dashboard('GET', `/notifications?limit=6${of}`), cursor);
    expect(rest.ids).toEqual(newestFirst.slice(6 + length));
  });

  it('of a search ends so, too', async () => {
    const path = '/notifications?limit=100&recipientPrefix=ad';
    const found = async () => (await tenant.dashboard('GET', path)).body.pagination.total;
    await until(async () => (await found()) === count, { what: 'all to be found' });
    expect((await allPages((cursor) => tenant.dashboard('GET', `${path}${cursor}`))).ids).toEqual(newestFirst);
    const { body: page } = await tenant.dashboard('GET', '/notifications?limit=5&page=2&recipientPrefix=ad');
    expect(page.data[0].id).toBe(newestFirst[5]);
  });

  it('of an inbox ends so, too, and counts all that is unread', async () => {
    const list = (cursor: string) => tenant.withKey('GET', `/notify/inapp/ada?limit=100&unread=true${cursor}`);
    const seen = await allPages(list);
    expect(seen.ids).toEqual(newestFirst);
    expect(seen.perPage[0]).toBe(5);
    expect((await list('')).body.unreadCount).toBe(count);
  });
});

it('of long templates goes on by the header Link', async () => {
  const long = { channel: 'WEBHOOK', body: 'x'.repeat(190 * 1024) };
  for (let i = 0; i < 7; i++)
    expect((await tenant.dashboard('POST', '/templates', { ...long, name: `t${i}` })).status).toBe(201);
  const names: string[] = [];
  let next: string | null = '/api/v1/templates';
  while (next !== null) {
    const page: Reply = await app.call('GET', next, { authorization: `Bearer ${tenant.token}` });
    expect(Buffer.byteLength(JSON.stringify(page.body))).toBeLessThanOrEqual(pageBytesMax);
    names.push(...page.body.map((template: { name: string }) => template.name));
    next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1] ?? null;
  }
  expect(names).toEqual(['t6', 't5', 't4', 't3', 't2', 't1', 't0']);
  expect((await tenant.dashboard('GET', '/templates?limit=2')).body).toHaveLength(2);
  expect((await tenant.dashboard('GET', '/templates?cursor=none')).status).toBe(400);
});

it('marks a whole inbox of long items as read, by all and by ids', async () => {
  const { body: page } = await tenant.withKey('GET', '/notify/inapp/ada?limit=1');
  const byId = await tenant.withKey('POST', '/notify/inapp/ada/read', { ids: [page.notifications[0].id] });
  expect(byId.body).toEqual({ success: true, updated: 1 });
  expect((await tenant.withKey('POST', '/notify/inapp/ada/read')).body).toEqual({ success: true, updated: count - 1 });
  const after = await tenant.withKey('GET', '/notify/inapp/ada?limit=1');
  expect(after.body).toMatchObject({ unreadCount: 0, notifications: [{ read: true, title: `n ${count - 1}` }] });
});
