// What a recipient's client asks for: the list, what is unread, and what came since a mark of the stream.

import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { FieldValue, Page, ReadModelReader } from '../../ports/read-model-store.ts';
import { pageBytesMax } from '../page-bytes.ts';
import type { InboxDocument, InboxItem, InboxItemDocument, ItemContent, ShownItem } from './documents.ts';
import { contentsCollection, inboxesCollection, inboxId, isShown, itemsCollection } from './documents.ts';

export interface InboxPage {
  /** Newest first. */
  readonly items: readonly InboxItem[];
  readonly unreadCount: number;
  /** To be passed as `after`; null at the end. */
  readonly next: readonly FieldValue[] | null;
}

export async function listInbox(
  reader: ReadModelReader,
  tenantId: TenantId,
  recipient: string,
  place: { readonly limit: number; readonly after?: readonly FieldValue[]; readonly unreadOnly?: boolean },
): Promise<InboxPage> {
  const [page, inbox] = await Promise.all([
    reader.find<InboxItemDocument>({
      collection: itemsCollection.name,
      equals: place.unreadOnly === true ? { tenantId, recipient, unread: 1 } : { tenantId, recipient },
      order: { fields: ['listedAt'], direction: 'descending' },
      limit: place.limit,
      ...(place.after === undefined ? {} : { after: place.after }),
    }),
    inboxOf(reader, tenantId, recipient),
  ]);
  const { items, cutAfter } = await withContents(reader, page.documents.filter(isShown), pageBytesMax);
  const next = cutAfter === null ? page.next : placeKeyOf(cutAfter);
  return { items, unreadCount: inbox?.unread ?? 0, next };
}

/** Where the list goes on behind this item. */
export function placeKeyOf({ listedAt, notificationId }: ShownItem): readonly FieldValue[] {
  return [listedAt, notificationId];
}

/** An InboxRead carries at most so many ids. */
export const unreadIdsMax = 5000;

/** What is shown unread, newest first, at most unreadIdsMax; `next` (to be passed as `after`) is null when that was all. */
export async function unreadIds(
  reader: ReadModelReader,
  tenantId: TenantId,
  recipient: string,
  after?: readonly FieldValue[],
): Promise<{ readonly ids: readonly NotificationId[]; readonly next: readonly FieldValue[] | null }> {
  const ids: NotificationId[] = [];
  let key = after ?? null;
  do {
    const page: Page<object> = await reader.find({
      collection: itemsCollection.name,
      equals: { tenantId, recipient, unread: 1 },
      order: { fields: ['listedAt'], direction: 'descending' },
      limit: Math.min(rowsPerLook, unreadIdsMax - ids.length),
      // Their ids are those of the notifications.
      fields: [],
      ...(key === null ? {} : { after: key }),
    });
    for (const { id } of page.documents) ids.push(id as NotificationId);
    key = page.next;
  } while (key !== null && ids.length < unreadIdsMax);
  return { ids, next: key };
}

/** The marks of items shown to this recipient, by notification id; others are absent. */
export async function itemsByIds(
  reader: ReadModelReader,
  tenantId: TenantId,
  recipient: string,
  ids: readonly NotificationId[],
): Promise<ReadonlyMap<string, ShownItem>> {
  const found = await reader.get<InboxItemDocument>(itemsCollection.name, ids);
  const items = new Map<string, ShownItem>();
  for (const [id, item] of found) {
    if (isShown(item) && item.tenantId === tenantId && item.recipient === recipient) items.set(id, item);
  }
  return items;
}

/** How far a stream has told: the highest sequence and the highest read offset. */
export interface InboxMarks {
  readonly sequence: number;
  readonly readOffset: number;
}

export interface InboxNews {
  /** Ascending by sequence. */
  readonly items: readonly InboxItem[];
  /** One for each InboxRead, ascending. */
  readonly reads: readonly {
    readonly offset: number;
    readonly ids: readonly NotificationId[];
    readonly readAt: number;
  }[];
  /** The marks once all of this is told. */
  readonly next: InboxMarks;
  /** There may be more: ask again at once. */
  readonly more: boolean;
}

/** The present end: where a stream begins that has told nothing yet. */
export async function inboxMarks(reader: ReadModelReader, tenantId: TenantId, recipient: string): Promise<InboxMarks> {
  const inbox = await inboxOf(reader, tenantId, recipient);
  return { sequence: tellableBelow(inbox) - 1, readOffset: inbox?.lastReadOffset ?? -1 };
}

/** What happened since the marks, at most `limit` items in newsBytesMax (and reads of at least `limit` ids, whole events). */
export async function inboxSince(
  reader: ReadModelReader,
  tenantId: TenantId,
  recipient: string,
  since: InboxMarks,
  limit: number,
): Promise<InboxNews> {
  // The inbox before its items: up to its last sequence everything was shown or pending by then, so nothing is skipped.
  const inbox = await inboxOf(reader, tenantId, recipient);
  const to = tellableBelow(inbox);
  const page = await reader.find<InboxItemDocument>({
    collection: itemsCollection.name,
    equals: { tenantId, recipient },
    range: { field: 'listedSequence', from: since.sequence + 1, to },
    order: { fields: ['listedSequence'], direction: 'ascending' },
    limit,
  });
  const shown = page.documents.filter(isShown);
  const { items, cutAfter } = await withContents(reader, shown, newsBytesMax);
  const reads = await readsSince(reader, { tenantId, recipient }, since.readOffset, limit);
  return {
    items,
    reads: reads.events,
    next: {
      sequence: (cutAfter ?? shown.at(-1))?.sequence ?? since.sequence,
      readOffset: reads.events.at(-1)?.offset ?? since.readOffset,
    },
    more: page.next !== null || cutAfter !== null || reads.more,
  };
}

/** Rows asked for at a time where a whole range is wanted. */
const rowsPerLook = 1000;
/** Of the items read for a stream at a time: one of the longest, or the hundred that are asked for. */
const newsBytesMax = 256 * 1024;

/** The first of them with their contents, as many as the bytes allow; null: all. */
async function withContents(
  reader: ReadModelReader,
  marks: readonly ShownItem[],
  bytesMax: number,
): Promise<{ readonly items: readonly InboxItem[]; readonly cutAfter: ShownItem | null }> {
  if (marks.length === 0) return { items: [], cutAfter: null };
  const ids = marks.map(({ notificationId }) => notificationId);
  const contents = await reader.get<ItemContent>(contentsCollection.name, ids, { bytesMax });
  const items = marks.flatMap((mark): InboxItem[] => {
    const content = contents.get(mark.notificationId);
    return content === undefined ? [] : [{ ...mark, content }];
  });
  const last = items.at(-1);
  const isCut = last !== undefined && last.notificationId !== marks.at(-1)?.notificationId;
  return { items, cutAfter: isCut ? last : null };
}

async function inboxOf(
  reader: ReadModelReader,
  tenantId: TenantId,
  recipient: string,
): Promise<InboxDocument | undefined> {
  const id = inboxId(tenantId, recipient);
  return (await reader.get<InboxDocument>(inboxesCollection.name, [id])).get(id);
}

/** Below this sequence nothing can come to be shown any more. */
function tellableBelow(inbox: InboxDocument | undefined): number {
  if (inbox === undefined) return 0;
  return inbox.pending[0] ?? inbox.lastSequence + 1;
}

/** Reads grouped by their event; an event is given whole or not at all. */
async function readsSince(
  reader: ReadModelReader,
  owner: { readonly tenantId: TenantId; readonly recipient: string },
  readOffset: number,
  idsWanted: number,
): Promise<{ readonly events: InboxNews['reads']; readonly more: boolean }> {
  const events: { offset: number; ids: NotificationId[]; readAt: number }[] = [];
  let ids = 0;
  let after: readonly FieldValue[] | null = null;
  do {
    const page: Page<InboxItemDocument> = await reader.find<InboxItemDocument>({
      collection: itemsCollection.name,
      equals: { tenantId: owner.tenantId, recipient: owner.recipient },
      range: { field: 'readOffset', from: readOffset + 1 },
      order: { fields: ['readOffset'], direction: 'ascending' },
      limit: rowsPerLook,
      ...(after === null ? {} : { after }),
    });
    for (const { notificationId, readOffset: offset, readAt } of page.documents) {
      if (offset === null || readAt === null) continue;
      let event = events.at(-1);
      if (event?.offset !== offset) {
        if (ids >= idsWanted) return { events, more: true };
        event = { offset, ids: [], readAt };
        events.push(event);
      }
      event.ids.push(notificationId);
      ids++;
    }
    after = page.next;
  } while (after !== null);
  return { events, more: false };
}
