// How <herald-inbox> joins the stream and the list, whichever comes first: each item told once, and counted right.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Inbox, InboxItem, InboxState } from '../../clients/inbox/inbox.ts';
import { openInbox } from '../../clients/inbox/inbox.ts';
import type { Herald } from '../../clients/typescript/src/index.ts';
import { HeraldError } from '../../clients/typescript/src/index.ts';
import { until } from '../support/until.ts';

interface Asked {
  (page: ListAnswer | { readonly updated: number }): void;
  refuse(error: Error): void;
}

interface ListAnswer {
  readonly notifications: readonly InboxItem[];
  readonly unreadCount: number;
}

/** A service that answers and tells when the test says so. */
function scriptedService() {
  const lists: Asked[] = [];
  const marks: Asked[] = [];
  const messages: { event: string; id: string; data: unknown }[] = [];
  let wake: () => void = () => undefined;
  async function* stream({ signal }: { signal: AbortSignal }) {
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      const message = messages.shift();
      if (message !== undefined) yield message;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const request = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    const answer = (page: object) => resolve({ nextCursor: null, ...page });
    (name.startsWith('GET') ? lists : marks).push(Object.assign(answer, { refuse: reject }));
    return promise;
  };
  const herald = {
    request,
    stream: (_: string, options: { signal: AbortSignal }) => stream(options),
  } as unknown as Pick<Herald, 'request' | 'stream'>;
  return {
    herald,
    tell(event: string, data: unknown = {}): void {
      messages.push({ event, id: '', data });
      wake();
    },
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
