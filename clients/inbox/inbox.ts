// A recipient's inbox as a page shows it: the list and the stream joined, each item once, the unread counted right.
//
// The stream is opened first, then the list is read: what comes between is in both, and known by its id. A list never knows less than the stream, so the
// service's count holds for what the stream had told when it was asked. Whether that count has a later message in it already can be seen of items that the
// list shows, and of those that are newer than its newest; for all others the service is asked again once it is quiet.

import type { Herald, Schemas } from '../typescript/src/index.ts';
import { HeraldError } from '../typescript/src/index.ts';
import { waitMs } from '../typescript/src/waiting.ts';

export type InboxItem = Schemas['InboxItem'];

/** `ended`: the service has refused it, and trying again doesn't help. */
export type InboxStatus = 'connecting' | 'live' | 'cut' | 'ended';

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
/** Recounted once nothing has come for so long, and after so long at most. */
const quietMs = 300;
const recountWithinMs = 2000;

/** Runs until it is closed. */
export function openInbox({ herald, userId, onChange, onItem }: Options) {
  const path = { userId };
  const ending = new AbortController();
  const { signal } = ending;
  const known = new Map<string, InboxItem>();
  /** Ids, in the order in which the stream has told of them. */
  const told = new Set<string>();
  let [unreadCount, newestListed]: [number, string] = [0, ''];
  let [status, problem]: [InboxStatus, string | null] = ['connecting', null];
  let cursor: string | null = null;
  let isListed = false;
  /** Lists that were asked for, and the last of them that was answered. */
  let [asked, answered] = [0, 0];
  /** Of lists, one after another. */
  let failures = 0;
  let recounting: { timer: ReturnType<typeof setTimeout>; readonly by: number } | null = null;

  const tell = (): void => {
    if (signal.aborted) return;
    const items = [...known.values()].sort(newestFirst);
    onChange({ items, unreadCount, status, hasMore: cursor !== null, problem });
  };

  /** What is read stays read, whichever answer comes last. */
  const keep = (item: InboxItem): void => {
    const { read = false, readAt = null } = known.get(item.id) ?? {};
    known.set(item.id, read && !item.read ? { ...item, read, readAt } : item);
  };

  const list = async (): Promise<void> => {
    const number = ++asked;
    const toldBefore = told.size;
    const page = await herald.request('GET /notify/inapp/{userId}', { path, query: { limit: pageSize }, signal });
    failures = 0;
    const newest = page.notifications[0]?.createdAt ?? '';
    const listed = new Set(page.notifications.map(({ id }) => id));
    // Those have come while it was on its way, and the page doesn't show whether it counts them.
    const since = [...told].slice(toldBefore).flatMap((id) => (listed.has(id) ? [] : (known.get(id) ?? [])));
    const beyond = since.filter(({ read, createdAt }) => !read && createdAt > newest);
    for (const item of page.notifications) keep(item);
    // Answers may overtake one another: an older one's count is of before.
    if (number > answered) {
      answered = number;
      [unreadCount, newestListed] = [page.unreadCount + beyond.length, newest];
      if (since.length > beyond.length) recount();
    }
    if (!isListed) cursor = page.nextCursor;
    isListed = true;
    tell();
  };

  const recount = (): void => {
    const now = performance.now();
    const by = recounting?.by ?? now + recountWithinMs;
    clearTimeout(recounting?.timer);
    recounting = { timer: setTimeout(listAgain, Math.max(0, Math.min(quietMs, by - now))), by };
  };

  const listAgain = (): void => {
    recounting = null;
    list().catch(listLater);
  };

  /** The next message, or the next connection, asks sooner. */
  const listLater = (error: unknown): void => {
    if (signal.aborted || status === 'ended' || recounting !== null) return;
    const inMs = waitMs(++failures, error instanceof HeraldError ? error.retryAfterMs : null);
    recounting = { timer: setTimeout(listAgain, inMs), by: performance.now() + recountWithinMs };
  };

  const add = (item: InboxItem): void => {
    if (told.has(item.id)) return;
    told.add(item.id);
    const isNew = !known.has(item.id);
    keep(item);
    if (isNew && isListed && !item.read && item.createdAt > newestListed) unreadCount++;
    else if (isNew) recount();
    tell();
    onItem(item);
  };

  const apply = (ids: readonly string[], readAt: string): void => {
    for (const id of ids) {
      const item = known.get(id);
      if (item !== undefined && !item.read) {
        known.set(id, { ...item, read: true, readAt });
        unreadCount = Math.max(0, unreadCount - 1);
      }
    }
    recount();
    tell();
  };

  const cut = (): void => {
    if (status === 'live') status = 'cut';
    tell();
  };

  const follow = async (): Promise<void> => {
    const stream = herald.stream('GET /notify/inapp/{userId}/stream', { path, signal, onCut: cut });
    for await (const { event, data } of stream) {
      if (event === 'connected') {
        status = 'live';
        list().catch(listLater);
      } else if (event === 'notification') add(data);
      else apply(data.ids, data.readAt);
    }
  };

  follow().catch((error: unknown) => {
    if (signal.aborted) return;
    status = 'ended';
    problem = sentenceOf(error);
    tell();
  });

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

  return {
    /** The next older page. */
    more: () =>
      trying(async () => {
        if (cursor === null) return;
        const query = { limit: pageSize, cursor };
        const page = await herald.request('GET /notify/inapp/{userId}', { path, query, signal });
        for (const item of page.notifications) keep(item);
        cursor = page.nextCursor;
      }),

    /** @param ids null: all of them up to now */
    markRead: (ids: readonly string[] | null) =>
      trying(async () => {
        const body = ids === null ? {} : { body: { ids: [...ids] } };
        // What comes before the answer is read only where the service says so.
        const marked = ids ?? [...known.keys()];
        await herald.request('POST /notify/inapp/{userId}/read', { path, signal, ...body });
        apply(marked, new Date().toISOString());
      }),

    /** Asks the service how things are now, which asks for another token where that is nearly over. */
    refresh: () => trying(list),

    close(): void {
      clearTimeout(recounting?.timer);
      ending.abort();
    },
  };
}

function newestFirst(a: InboxItem, b: InboxItem): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}

function sentenceOf(error: unknown): string {
  return error instanceof HeraldError ? error.message : 'The service can not be reached at the moment.';
}
