// The read model `inbox`: what each recipient of in-app notifications can see and has read.

import { isErased } from '../../domain/erasure.ts';
import type { EventType, InboxRead, NotificationRequested } from '../../domain/events.ts';
import { priorities } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import { murmur3 } from '../../domain/murmur.ts';
import { deliveriesTopic, inboxTopic, retentionTopic, settingsTopic, workTopic } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import { withShortTexts } from '../cut-documents.ts';
import type { DecodedEntry, ReadModel } from '../read-model.ts';
import type { InboxDocument, InboxItemDocument, ItemContent, ItemFacts } from './documents.ts';
import { contentsCollection, inboxesCollection, itemsCollection, toItemDocument } from './documents.ts';
import { createInboxChanges } from './inbox-changes.ts';

/** Where items come from, and what is read of them. */
export const inboxTopics = [
  ...priorities.map((priority) => workTopic('IN_APP', priority)),
  deliveriesTopic,
  inboxTopic,
];

/**
 * `inbox_2`, since it replaced one whose items had their contents inside: under another name it is folded from the log's beginning, and processes of before and
 * after run side by side.
 */
export const inboxReadModel: ReadModel = {
  definition: { name: 'inbox_2', collections: [itemsCollection, contentsCollection, inboxesCollection] },
  topics: [...inboxTopics, retentionTopic, settingsTopic],
  types: new Set<EventType>([
    'NotificationRequested',
    'AttemptSucceeded',
    'InboxRead',
    'NotificationsForgotten',
    'RecipientErased',
    'TenantErased',
    'TenantForgotten',
  ]),
  foldsOthersAhead: true,
  async fold(entries, reader) {
    const ids = new Set<string>();
    for (const entry of entries) for (const id of itemsOf(entry)) ids.add(id);
    if (ids.size === 0) return [];
    const stored = await reader.get<InboxItemDocument>(itemsCollection.name, [...ids]);
    const items = new Map<string, ItemFacts | null>();
    const contents = new Map<string, ItemContent | null>();
    const inboxes = createInboxChanges();
    const documentNow = (id: string) => documentOf(items.has(id) ? items.get(id) : stored.get(id));
    // Erasures once more at the end: what stands behind one may have been decoded before that was known.
    for (const entry of [...entries, ...entries.filter(isErasing)]) {
      const before = itemsOf(entry).map((id) => [id, documentNow(id)] as const);
      mergeEntry(entry, { items, contents, stored });
      for (const [id, document] of before) inboxes.move(document, documentNow(id));
    }

    const writes: Write[] = [];
    for (const [id, facts] of items) {
      const document = documentOf(facts);
      const isNew = !stored.has(id);
      if (!isNew || document !== null) writes.push({ collection: itemsCollection.name, id, document, isNew });
    }
    for (const [id, document] of contents) {
      const isNew = (stored.get(id)?.contentDigest ?? null) === null;
      if (!isNew || document !== null) writes.push({ collection: contentsCollection.name, id, document, isNew });
    }
    const storedInboxes = await reader.get<InboxDocument>(inboxesCollection.name, inboxes.ids());
    writes.push(...inboxes.writes(storedInboxes));
    return writes;
  },
  shortened: withShortTexts,
};

function documentOf(facts: ItemFacts | null | undefined): InboxItemDocument | null {
  return facts === null || facts === undefined ? null : toItemDocument(facts);
}

function itemsOf({ event }: DecodedEntry): readonly NotificationId[] {
  switch (event.type) {
    case 'NotificationRequested':
    case 'AttemptSucceeded':
      return event.channel === 'IN_APP' && !isErased(event) ? [event.notificationId] : [];
    case 'InboxRead':
      return isErased(event) ? [] : event.notificationIds;
    case 'NotificationsForgotten':
    case 'RecipientErased':
    case 'TenantForgotten':
      return event.notificationIds;
    default:
      return [];
  }
}

function isErasing({ event }: DecodedEntry): boolean {
  return event.type === 'RecipientErased' || event.type === 'TenantForgotten';
}

interface Merged {
  /** null: forgotten. */
  readonly items: Map<string, ItemFacts | null>;
  /** Those to be written: a stored one isn't read, its digest tells which counts. */
  readonly contents: Map<string, ItemContent | null>;
  readonly stored: ReadonlyMap<string, ItemFacts>;
}

function mergeEntry({ event, offset }: DecodedEntry, { items, contents, stored }: Merged): void {
  const knownOf = (id: NotificationId): ItemFacts | undefined =>
    items.get(id) ?? (items.has(id) ? undefined : stored.get(id));
  const factsOf = (id: NotificationId, owner: { tenantId: TenantId; recipient: string }): ItemFacts =>
    knownOf(id) ?? unknownItem(id, owner);
  const forget = (id: NotificationId): void => {
    items.set(id, null);
    contents.set(id, null);
  };
  switch (event.type) {
    case 'NotificationRequested': {
      if (event.channel !== 'IN_APP' || isErased(event)) return;
      const facts = factsOf(event.notificationId, event);
      const content = contentOf(event);
      const createdAt = createdAtOf(event);
      const contentDigest = digestOf(content);
      if (!isLesser({ createdAt, contentDigest }, facts)) return;
      items.set(event.notificationId, { ...facts, createdAt, contentDigest });
      contents.set(event.notificationId, content);
      return;
    }
    case 'AttemptSucceeded': {
      if (event.channel !== 'IN_APP' || isErased(event)) return;
      const facts = factsOf(event.notificationId, event);
      const sequence = facts.sequence === null ? offset : Math.min(facts.sequence, offset);
      items.set(event.notificationId, { ...facts, sequence });
      return;
    }
    case 'InboxRead':
      if (isErased(event)) return;
      for (const id of event.notificationIds) {
        const facts = factsOf(id, event);
        // Nobody reads another's item.
        if (facts.tenantId !== event.tenantId || facts.recipient !== event.recipient) continue;
        if (isEarlierRead(event, offset, facts)) {
          items.set(id, { ...facts, readAt: event.occurredAt, readOffset: offset });
        }
      }
      return;
    case 'NotificationsForgotten':
      for (const id of event.notificationIds) forget(id);
      return;
    case 'RecipientErased':
    case 'TenantForgotten':
      for (const id of event.notificationIds) if (knownOf(id)?.tenantId === event.tenantId) forget(id);
      return;
    default:
  }
}

function unknownItem(notificationId: NotificationId, owner: { tenantId: TenantId; recipient: string }): ItemFacts {
  const { tenantId, recipient } = owner;
  const nothing = { createdAt: null, contentDigest: null, sequence: null, readAt: null, readOffset: null };
  return { notificationId, tenantId, recipient, ...nothing };
}

function contentOf({ request }: NotificationRequested): ItemContent {
  return { title: request.subject, body: request.body, data: request.data };
}

function createdAtOf({ request, requestedAt }: NotificationRequested): number {
  return Math.max(requestedAt, request.sendAt ?? 0);
}

function digestOf({ title, body, data }: ItemContent): string {
  return [...murmur3(JSON.stringify([title, body, data]))].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Of two requests with one id: the least, whatever came first. */
function isLesser(
  a: { readonly createdAt: number; readonly contentDigest: string },
  b: Pick<ItemFacts, 'createdAt' | 'contentDigest'>,
): boolean {
  if (b.createdAt === null || b.contentDigest === null) return true;
  return a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.contentDigest < b.contentDigest);
}

function isEarlierRead(event: InboxRead, offset: number, facts: ItemFacts): boolean {
  if (facts.readAt === null || facts.readOffset === null) return true;
  return event.occurredAt < facts.readAt || (event.occurredAt === facts.readAt && offset < facts.readOffset);
}
