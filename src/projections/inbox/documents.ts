// The documents of the inbox: for each in-app item its marks and, apart from them, its content; for each recipient the counts and the marks of the stream.
//
// An item's facts (requested, delivered, read) come from three topics in any order; it is shown once it is requested and delivered. Its marks are some 300
// bytes, its content up to 270 kB: whoever counts, marks as read or looks for what is next reads the marks alone.

import type { NotificationId, TenantId } from '../../domain/ids.ts';
import type { CollectionDefinition } from '../../ports/read-model-store.ts';

/** What the request said of an item. */
export interface ItemContent {
  readonly title: string | null;
  readonly body: string;
  /** JSON text of an object. */
  readonly data: string;
}

export interface InboxItemDocument {
  readonly notificationId: NotificationId;
  readonly tenantId: TenantId;
  readonly recipient: string;
  /** UTC ms: when it was requested, or its `sendAt` when that is later; null as long as the request wasn't seen. */
  readonly createdAt: number | null;
  /** Of its content: of two requests with one id the least counts. */
  readonly contentDigest: string | null;
  /** The offset of its first success in the deliveries topic; null until it is delivered. */
  readonly sequence: number | null;
  /** UTC ms and the offset in the inbox topic of the earliest InboxRead that names it. */
  readonly readAt: number | null;
  readonly readOffset: number | null;
  /** Of an item that is shown, else null: its place in the list, in the stream, and 1 while it is unread. */
  readonly listedAt: number | null;
  readonly listedSequence: number | null;
  readonly unread: 1 | null;
}

/** The marks of an item that is shown. */
export interface ShownItem extends InboxItemDocument {
  readonly createdAt: number;
  readonly sequence: number;
  readonly listedAt: number;
}

/** An item as its recipient sees it. */
export interface InboxItem extends ShownItem {
  readonly content: ItemContent;
}

export interface InboxDocument {
  readonly tenantId: TenantId;
  readonly recipient: string;
  /** Of the items shown. */
  readonly total: number;
  readonly unread: number;
  /** Sequences of delivered items whose request wasn't seen yet, ascending: no stream goes past the least. */
  readonly pending: readonly number[];
  /** The highest sequence and read offset seen; -1 before the first. */
  readonly lastSequence: number;
  readonly lastReadOffset: number;
}

const itemFields = {
  tenantId: 'text',
  recipient: 'text',
  listedAt: 'number',
  listedSequence: 'number',
  readOffset: 'number',
  unread: 'number',
} as const;

const itemKeys = [
  'notificationId',
  'tenantId',
  'recipient',
  'createdAt',
  'contentDigest',
  'sequence',
  'readAt',
  'readOffset',
  'listedAt',
  'listedSequence',
  'unread',
] satisfies (keyof InboxItemDocument)[];

export const itemsCollection: CollectionDefinition = {
  name: 'inbox_items',
  fields: itemFields,
  shape: { keys: itemKeys, id: 'notificationId', beside: Object.keys(itemFields) },
  indexes: [
    { fields: ['tenantId', 'recipient', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'recipient', 'unread', 'listedAt'], sparse: true },
    { fields: ['tenantId', 'recipient', 'listedSequence'], sparse: true },
    { fields: ['tenantId', 'recipient', 'readOffset'], sparse: true },
  ],
};

/** By the notification's id; a content is there before its item is shown. */
export const contentsCollection: CollectionDefinition = {
  name: 'inbox_contents',
  fields: {},
  indexes: [],
  shape: { keys: ['title', 'body', 'data'] satisfies (keyof ItemContent)[], beside: [] },
};

export const inboxesCollection: CollectionDefinition = { name: 'inbox_recipients', fields: {}, indexes: [] };

/** Tenant ids hold no colon. */
export function inboxId(tenantId: TenantId, recipient: string): string {
  return `${tenantId}:${recipient}`;
}

export type ItemFacts = Omit<InboxItemDocument, 'listedAt' | 'listedSequence' | 'unread'>;

/** The document that the facts give, its fields in one order. */
export function toItemDocument(facts: ItemFacts): InboxItemDocument {
  const { notificationId, tenantId, recipient, createdAt, contentDigest, sequence, readAt, readOffset } = facts;
  const isShown = createdAt !== null && sequence !== null;
  return {
    notificationId,
    tenantId,
    recipient,
    createdAt,
    contentDigest,
    sequence,
    readAt,
    readOffset,
    listedAt: isShown ? createdAt : null,
    listedSequence: isShown ? sequence : null,
    unread: isShown && readAt === null ? 1 : null,
  };
}

export function isShown<D extends InboxItemDocument>(document: D): document is D & ShownItem {
  return document.listedAt !== null;
}
