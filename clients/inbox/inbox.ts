// A recipient's inbox as a page shows it: the list and the stream joined, each item once, the unread counted right.
//
// The stream is opened first, then the list is read: what comes between is in both, and known by its id. A list never knows less than the stream, so the
// service's count holds for what the stream had told when it was asked. Whether that count has a later message in it already can be seen of items that the
// list shows, and of those that are newer than its newest; for all others the service is asked again once it is quiet.

import type { Herald } from '../typescript/src/index.ts';
import { HeraldError } from '../typescript/src/index.ts';
import { waitMs } from '../typescript/src/waiting.ts';
import type { InboxItem } from './items.ts';
import { createItems } from './items.ts';

/** `polled`: there is no stream, and the list is asked for now and then; `ended`: the service has refused it, and trying again doesn't help. */
export type InboxStatus = 'connecting' | 'live' | 'cut' | 'polled' | 'ended';

export interface InboxState {
  /** Newest first. */
  readonly items: readonly InboxItem[];
  readonly unreadCount: number;
  readonly status: InboxStatus;
  /** There are older ones. */
  readonly hasMore: boolean;
  /** Why the last thing asked for wasn't done; null: it was. */
  readonly problem: string | null;
}

interface Options {
  readonly herald: Pick<Herald, 'request' | 'stream'>;
  readonly userId: string;
  /** Called after each change. */
  onChange(state: InboxState): void;
  /** Of an item that has just come. */
  onItem(item: InboxItem): void;
}

export type Inbox = ReturnType<typeof openInbox>;

const pageSize = 20;
/** The most that the service gives: what is here already is gone through to what isn't. */
const wholePageSize = 100;
/** Recounted once nothing has come for so long, and after so long at most. */
const quietMs = 300;
const recountWithinMs = 2000;
/** While there is no stream the list is asked for so often, and up to half as long again: 1,000 pages of a tenant without one take a fifth of its reads. */
const pollMs = 60_000;
/** Ids of items that the stream has told, of 36 characters: it tells each once, unless its log is another one. */
const toldMax = 2000;

/** Runs until it is closed. */
export function openInbox({ herald, userId, onChange, onItem }: Options) {
  const path = { userId };
  const ending = new AbortController();
  const { signal } = ending;
  const items = createItems();
  const told = new Set<string>();
  /** Of each list that is on its way, what the stream has told since it was asked for. */
  const underWay = new Set<string[]>();
  let [unreadCount, newestListed]: [number, string] = [0, ''];
  let [status, problem]: [InboxStatus, string | null] = ['connecting', null];
  let cursor: string | null = null;
  /** What is behind the cursor may not be all that is older and isn't here. */
  let hasGap = false;
  let isListed = false;
  /** Lists that were asked for, and the last of them that was answered. */
  let [asked, answered] = [0, 0];
  /** Of lists, one after another. */
  let failures = 0;
  let nextList: { timer: ReturnType<typeof setTimeout>; readonly by: number } | null = null;
  /** Of the stream; null: it rests. */
  let following: AbortController | null = null;
  let lastEventId = '';

  const tell = (): void => {
    if (signal.aborted) return;
    onChange({ items: items.all(), unreadCount, status, hasMore: cursor !== null || hasGap, problem });
  };

  const keep = (item: InboxItem): void => {
    if (items.keep(item)) hasGap = true;
  };

  const list = async (): Promise<void> => {
    const number = ++asked;
    const toldSince: string[] = [];
    underWay.add(toldSince);
    const page = await herald
      .request('GET /notify/inapp/{userId}', { path, query: { limit: pageSize }, signal })
      .catch((error: unknown) => {
        underWay.delete(toldSince);
        throw error;
      });
    underWay.delete(toldSince);
    failures = 0;
    const newest = page.notifications[0]?.createdAt ?? '';
    const listed = new Set(page.notifications.map(({ id }) => id));
    // Those have come while it was on its way, and the page doesn't show whether it counts them.
    const since = toldSince.flatMap((id) => (listed.has(id) ? [] : (items.get(id) ?? [])));
    const beyond = since.filter(({ read, createdAt }) => !read && createdAt > newest);
    if (isListed && page.nextCursor !== null && !page.notifications.some(({ id }) => items.get(id))) hasGap = true;
    for (const item of page.notifications) keep(item);
    // Answers may overtake one another: an older one's count is of before.
    if (number > answered) {
      answered = number;
      [unreadCount, newestListed] = [page.unreadCount + beyond.length, newest];
      if (since.length > beyond.length) recount();
    }
    if (!isListed) cursor = page.nextCursor;
    isListed = true;
    if (status === 'connecting' || status === 'cut') status = 'polled';
    pollWithoutStream();
    tell();
  };

  const listIn = (ms: number, by = performance.now() + ms): void => {
    clearTimeout(nextList?.timer);
    nextList = { timer: setTimeout(listNow, ms), by };
  };

  const listNow = (): void => {
    clearTimeout(nextList?.timer);
    nextList = null;
    list().catch(listLater);
  };

  const recount = (): void => {
    const now = performance.now();
    const by = Math.min(nextList?.by ?? Infinity, now + recountWithinMs);
    listIn(Math.max(0, Math.min(quietMs, by - now)), by);
  };

  /** The next message, or the next connection, asks sooner. */
  const listLater = (error: unknown): void => {
    if (signal.aborted || status === 'ended' || nextList !== null) return;
    const isWanted = following !== null && (status === 'live' || !isListed);
    const retryAfterMs = error instanceof HeraldError ? error.retryAfterMs : null;
    listIn(isWanted ? waitMs(++failures, retryAfterMs) : waitMs(1, pollMs));
  };

  /** Whoever finds no room for a stream, or rests, sees what is there all the same. */
  const pollWithoutStream = (): void => {
    if (status === 'live' || status === 'ended' || nextList !== null || underWay.size > 0) return;
    if (isListed) listIn(waitMs(1, pollMs));
    else listNow();
  };

  const add = (item: InboxItem): void => {
    if (told.has(item.id)) return;
    told.add(item.id);
    const [oldest] = told;
    if (told.size > toldMax && oldest !== undefined) told.delete(oldest);
    for (const since of underWay) since.push(item.id);
    const isNew = items.get(item.id) === undefined;
    keep(item);
    if (isNew && isListed && !item.read && item.createdAt > newestListed) unreadCount++;
    else if (isNew) recount();
    tell();
    onItem(item);
  };

  const apply = (ids: readonly string[], readAt: string): void => {
    unreadCount = Math.max(0, unreadCount - items.read(ids, readAt));
    recount();
    tell();
  };

  const cut = (cause: unknown): void => {
    const isReached = cause instanceof HeraldError;
    if (status === 'live' || (status === 'polled' && !isReached)) status = 'cut';
    pollWithoutStream();
    tell();
  };

  const follow = async (until: AbortSignal): Promise<void> => {
    const begin = lastEventId === '' ? {} : { lastEventId };
    const options = { path, signal: until, onCut: cut, ...begin };
    for await (const { event, id, data } of herald.stream('GET /notify/inapp/{userId}/stream', options)) {
      if (until.aborted) return;
      if (id !== '') lastEventId = id;
      if (event === 'connected') {
        status = 'live';
        listNow();
      } else if (event === 'notification') add(data);
      else apply(data.ids, data.readAt);
    }
  };

  const wake = (): void => {
    if (following !== null || signal.aborted) return;
    following = new AbortController();
    const { signal: until } = following;
    follow(until).catch((error: unknown) => {
      if (until.aborted) return;
      status = 'ended';
      problem = sentenceOf(error);
      tell();
    });
  };

  const rest = (): void => {
    if (following === null || status === 'ended') return;
    following.abort();
    following = null;
    if (status === 'live') status = 'polled';
    pollWithoutStream();
    tell();
  };

  /** What a person has asked for: why it can't be done is told, nothing is thrown. */
  const trying = async (work: () => Promise<void>): Promise<void> => {
    problem = null;
    try {
      await work();
    } catch (error) {
      problem = sentenceOf(error);
    }
    tell();
  };

  wake();

  return {
    /** The next older page that has what isn't here. */
    more: () =>
      trying(async () => {
        if (cursor === null && !hasGap) return;
        const limit = hasGap ? wholePageSize : pageSize;
        let next = hasGap ? null : cursor;
        let isKnown: boolean;
        do {
          const query = { limit, ...(next === null ? {} : { cursor: next }) };
          const page = await herald.request('GET /notify/inapp/{userId}', { path, query, signal });
          isKnown = page.notifications.every(({ id }) => items.get(id) !== undefined);
          items.makeRoom();
          for (const item of page.notifications) keep(item);
          next = page.nextCursor;
        } while (isKnown && next !== null);
        [cursor, hasGap] = [next, false];
      }),

    /** @param ids null: all of them up to now */
    markRead: (ids: readonly string[] | null) =>
      trying(async () => {
        const body = ids === null ? {} : { body: { ids: [...ids] } };
        // What comes before the answer is read only where the service says so.
        const marked = ids ?? items.all().map(({ id }) => id);
        await herald.request('POST /notify/inapp/{userId}/read', { path, signal, ...body });
        apply(marked, new Date().toISOString());
      }),

    /** Asks the service how things are now, which asks for another token where that is nearly over. */
    refresh: () => trying(list),

    /** Nobody looks: without a stream, for which a browser has six connections to a host, over all its pages. */
    rest,
    /** From where the stream was left. */
    wake,

    close(): void {
      clearTimeout(nextList?.timer);
      following?.abort();
      ending.abort();
    },
  };
}

function sentenceOf(error: unknown): string {
  return error instanceof HeraldError ? error.message : 'The service can not be reached at the moment.';
}
