// How <herald-inbox> joins the stream and the list, whichever comes first: each item told once, and counted right.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Inbox, InboxState } from '../../clients/inbox/inbox.ts';
import { openInbox } from '../../clients/inbox/inbox.ts';
import type { InboxItem } from '../../clients/inbox/items.ts';
import type { Herald } from '../../clients/typescript/src/index.ts';
import { HeraldError } from '../../clients/typescript/src/index.ts';
import { until } from '../support/until.ts';

interface Asked {
  (page: ListAnswer | { readonly updated: number }): void;
  refuse(error: Error): void;
  readonly query: object | undefined;
}

interface ListAnswer {
  readonly notifications: readonly InboxItem[];
  readonly unreadCount: number;
  readonly nextCursor?: string;
}

interface StreamOptions {
  readonly signal: AbortSignal;
  readonly onCut: (cause: unknown) => void;
  readonly lastEventId?: string;
}

/** A service that answers and tells when the test says so. */
function scriptedService() {
  const lists: Asked[] = [];
  const marks: Asked[] = [];
  const messages: { event: string; id: string; data: unknown }[] = [];
  const streams: StreamOptions[] = [];
  let wake: () => void = () => undefined;
  async function* stream(options: StreamOptions) {
    streams.push(options);
    const { signal } = options;
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      const message = messages.shift();
      if (message !== undefined) yield message;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const request = (name: string, { query }: { query?: object }) => {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    const answer = (page: object) => resolve({ nextCursor: null, ...page });
    (name.startsWith('GET') ? lists : marks).push(Object.assign(answer, { refuse: reject, query }));
    return promise;
  };
  const herald = {
    request,
    stream: (_: string, options: StreamOptions) => stream(options),
  } as unknown as Pick<Herald, 'request' | 'stream'>;
  return {
    herald,
    tell(event: string, data: unknown = {}, id = ''): void {
      messages.push({ event, id, data });
      wake();
    },
    /** Those that were opened, the last one last. */
    streams,
    isListAsked: () => lists.length > 0,
    /** The next list that is asked for. */
    nextList: () => until(() => lists.shift(), { what: 'a list that is asked for' }),
    /** The next time that items are marked. */
    nextMark: () => until(() => marks.shift(), { what: 'items that are marked' }),
  };
}

const item = (id: string, at: string): InboxItem => ({
  id,
  notificationId: `notif_${id}`,
  tenantId: 'tenant',
  recipientId: 'ada',
  title: null,
  body: id,
  read: false,
  createdAt: `2026-01-01T00:00:${at}Z`,
  readAt: null,
  data: {},
});

let service: ReturnType<typeof scriptedService>;
let inbox: Inbox;
let state: InboxState | null;
let arrived: string[];

beforeEach(() => {
  service = scriptedService();
  [state, arrived] = [null, []];
  inbox = openInbox({
    herald: service.herald,
    userId: 'ada',
    onChange: (next) => void (state = next),
    onItem: ({ id }) => void arrived.push(id),
  });
});
afterEach(() => inbox.close());

const shows = (ids: readonly string[], unreadCount: number) =>
  until(
    () => state?.unreadCount === unreadCount && JSON.stringify(state.items.map(({ id }) => id)) === JSON.stringify(ids),
    { what: `${ids.join(', ')} and ${unreadCount} unread` },
  );

describe('an item that comes while the list is on its way', () => {
  const [before, one, two] = [item('before', '01.000'), item('one', '02.000'), item('two', '02.000')];

  beforeEach(async () => {
    service.tell('connected');
    const answer = await service.nextList();
    answer({ notifications: [before], unreadCount: 1 });
    await shows(['before'], 1);
  });

  it('is counted beside the list’s, where it is newer than all that the list has', async () => {
    service.tell('connected');
    const answer = await service.nextList();
    service.tell('notification', one);
    await shows(['one', 'before'], 2);
    answer({ notifications: [before], unreadCount: 1 });
    await shows(['one', 'before'], 2);
  });

  it('is counted by asking again, where it is of the same millisecond as the newest in the list', async () => {
    service.tell('connected');
    const answer = await service.nextList();
    service.tell('notification', two);
    await shows(['two', 'before'], 2);
    answer({ notifications: [one, before], unreadCount: 2 });
    const again = await service.nextList();
    again({ notifications: [two, one, before], unreadCount: 3 });
    await shows(['two', 'one', 'before'], 3);
  });

  it('is told of once, whether the list or the stream has it first', async () => {
    service.tell('connected');
    const answer = await service.nextList();
    service.tell('notification', one);
    await shows(['one', 'before'], 2);
    answer({ notifications: [two, one, before], unreadCount: 3 });
    await shows(['two', 'one', 'before'], 3);
    service.tell('notification', two);
    service.tell('notification', one);
    await until(() => arrived.length === 2, { what: 'both to be told of' });
    expect(arrived).toEqual(['one', 'two']);
    await shows(['two', 'one', 'before'], 3);
  });
});

it('what was there before is shown, and not told of', async () => {
  service.tell('connected');
  const answer = await service.nextList();
  answer({ notifications: [item('old', '01.000')], unreadCount: 1 });
  await shows(['old'], 1);
  expect(arrived).toEqual([]);
});

it('the count is the one of the list that was asked for last, also where an older one comes later', async () => {
  service.tell('connected');
  const older = await service.nextList();
  service.tell('connected');
  const newer = await service.nextList();
  newer({ notifications: [{ ...item('old', '01.000'), read: true }], unreadCount: 0 });
  await shows(['old'], 0);
  const shown = state;
  older({ notifications: [item('old', '01.000')], unreadCount: 1 });
  await until(() => state !== shown, { what: 'the older answer' });
  expect(state?.unreadCount).toBe(0);
});

it('what comes while all are marked as read stays unread', async () => {
  const [before, late] = [item('before', '01.000'), item('late', '03.000')];
  service.tell('connected');
  (await service.nextList())({ notifications: [before], unreadCount: 1 });
  await shows(['before'], 1);
  const marking = inbox.markRead(null);
  const answer = await service.nextMark();
  service.tell('read', { ids: ['before'], readAt: '2026-01-01T00:00:02.000Z' });
  service.tell('notification', late);
  await shows(['late', 'before'], 1);
  answer({ updated: 1 });
  await marking;
  expect(state?.items.map(({ id, read }) => [id, read])).toEqual([
    ['late', false],
    ['before', true],
  ]);
  expect(state?.unreadCount).toBe(1);
});

it('a list that is refused for a while is asked for until it comes, though nothing else does', async () => {
  service.tell('connected');
  for (let i = 0; i < 3; i++) (await service.nextList()).refuse(new HeraldError(503, {}, null));
  (await service.nextList())({ notifications: [item('old', '01.000')], unreadCount: 1 });
  await shows(['old'], 1);
});

it('what was erased meanwhile is counted no more, although it was told of before', async () => {
  service.tell('connected');
  (await service.nextList())({ notifications: [], unreadCount: 0 });
  service.tell('notification', item('erased', '01.000'));
  await shows(['erased'], 1);
  service.tell('connected');
  (await service.nextList())({ notifications: [], unreadCount: 0 });
  await until(() => state?.unreadCount === 0, { what: 'no unread ones' });
});

describe('without a stream', () => {
  const [one, two] = [item('one', '01.000'), item('two', '02.000')];
  const opened = (count: number) =>
    until(() => service.streams[count - 1], { what: `${count} streams that were opened` });

  it.each([
    ['the service has no room for it', new HeraldError(429, {}, 60_000)],
    ['something before the service refuses it', new HeraldError(502, {}, null)],
    ['the connection is cut at once', null],
  ])('what is there is shown where %s', async (_, cause) => {
    const { onCut } = await opened(1);
    onCut(cause);
    onCut(cause);
    (await service.nextList())({ notifications: [one], unreadCount: 1 });
    await shows(['one'], 1);
    expect(state?.status).toBe('polled');
    onCut(new HeraldError(429, {}, 60_000));
    expect([state?.status, service.isListAsked()]).toEqual(['polled', false]);
    onCut(new Error('no answer'));
    expect([state?.status, service.isListAsked()]).toEqual(['cut', false]);
  });

  it('it rests while nobody looks, and is taken up where it was left', async () => {
    service.tell('connected', {}, 'id-1');
    (await service.nextList())({ notifications: [one], unreadCount: 1 });
    await shows(['one'], 1);
    const { signal } = await opened(1);
    inbox.rest();
    expect([signal.aborted, state?.status, service.isListAsked()]).toEqual([true, 'polled', false]);
    inbox.wake();
    inbox.wake();
    expect(await opened(2)).toMatchObject({ lastEventId: 'id-1' });
    expect(service.streams).toHaveLength(2);
    service.tell('connected', {}, 'id-2');
    (await service.nextList())({ notifications: [two, one], unreadCount: 2 });
    service.tell('notification', two, 'id-3');
    await until(() => arrived.includes('two'), { what: 'what came meanwhile' });
    await shows(['two', 'one'], 2);
    expect(state?.status).toBe('live');
  });

  it('an inbox that nobody has looked at yet is listed', async () => {
    inbox.rest();
    (await service.nextList())({ notifications: [one], unreadCount: 1 });
    await shows(['one'], 1);
    expect(state?.status).toBe('polled');
  });

  it('what came between two lists is found by asking for older ones', async () => {
    inbox.rest();
    (await service.nextList())({ notifications: [one], unreadCount: 1 });
    await shows(['one'], 1);
    const refreshing = inbox.refresh();
    (await service.nextList())({ notifications: [item('four', '04.000')], unreadCount: 4, nextCursor: 'a' });
    await refreshing;
    await shows(['four', 'one'], 4);
    const asking = inbox.more();
    (await service.nextList())({ notifications: [item('four', '04.000')], unreadCount: 4, nextCursor: 'a' });
    const second = await service.nextList();
    expect(second.query).toMatchObject({ cursor: 'a' });
    second({ notifications: [item('three', '03.000'), two, one], unreadCount: 4 });
    await asking;
    await shows(['four', 'three', 'two', 'one'], 4);
    expect(state?.hasMore).toBe(false);
  });
});

it('a page that stays open holds its newest items, and gets at the others as at older ones', async () => {
  const count = 1200;
  const all = Array.from({ length: count }, (_, i) => ({
    ...item(`i${i}`, '00.000'),
    createdAt: new Date(1_767_225_600_000 + i).toISOString(),
  })).toReversed();
  service.tell('connected');
  (await service.nextList())({ notifications: [], unreadCount: 0 });
  for (const each of all.toReversed()) service.tell('notification', each);
  await until(() => arrived.length === count, { what: 'all of them' });
  expect(state).toMatchObject({ unreadCount: count, hasMore: true });
  expect(state?.items).toEqual(all.slice(0, 500));
  const asking = inbox.more();
  for (let from = 0; from <= 500; from += 100) {
    const page = await service.nextList();
    expect(page.query).toEqual({ limit: 100, ...(from === 0 ? {} : { cursor: String(from) }) });
    page({ notifications: all.slice(from, from + 100), unreadCount: count, nextCursor: String(from + 100) });
  }
  await asking;
  expect(state).toMatchObject({ unreadCount: count, hasMore: true });
  expect(state?.items).toEqual(all.slice(0, 600));
});
