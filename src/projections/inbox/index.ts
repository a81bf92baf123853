// The read model `inbox`: what each recipient of in-app notifications can see and has read.

import type { EventType, InboxRead, NotificationRequested } from '../../domain/events.ts';
import { priorities } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import { deliveriesTopic, inboxTopic, workTopic } from '../../domain/topics.ts';
import type { Write } from '../../ports/read-model-store.ts';
import { withShortTexts } from '../cut-documents.ts';
import type { DecodedEntry, ReadModel } from '../read-model.ts';
import type { InboxDocument, InboxItemDocument, ItemContent, ItemFacts } from './documents.ts';
import { inboxesCollection, itemsCollection, toItemDocument } from './documents.ts';
import { createInboxChanges } from './inbox-changes.ts';

export const inboxReadModel: ReadModel = {
  definition: { name: 'inbox', collections: [itemsCollection, inboxesCollection] },
  topics: [...priorities.map((priority) => workTopic('IN_APP', priority)), deliveriesTopic, inboxTopic],
  types: new Set<EventType>(['NotificationRequested', 'AttemptSucceeded', 'InboxRead']),
  async fold(entries, reader) {
    const ids = new Set<string>();
    for (const entry of entries) for (const id of itemsOf(entry)) ids.add(id);
    if (ids.size === 0) return [];
    const stored = await reader.get<InboxItemDocument>(itemsCollection.name, [...ids]);
    const items = new Map<string, ItemFacts>();
    for (const entry of entries) mergeEntry(entry, items, stored);

    const writes: Write[] = [];
    const inboxes = createInboxChanges();
    for (const [id, facts] of items) {
      const document = toItemDocument(facts);
      const before = stored.get(id) ?? null;
      writes.push({ collection: itemsCollection.name, id, document, isNew: before === null });
      inboxes.move(before, document);
    }
    const storedInboxes = await reader.get<InboxDocument>(inboxesCollection.name, inboxes.ids());
    writes.push(...inboxes.writes(storedInboxes));
    return writes;
  },
  shortened: withShortTexts,
};

function itemsOf({ event }: DecodedEntry): readonly NotificationId[] {
  switch (event.type) {
    case 'NotificationRequested':
    case 'AttemptSucceeded':
      return event.channel === 'IN_APP' ? [event.notificationId] : [];
    case 'InboxRead':
      return event.notificationIds;
    default:
      return [];
  }
}

function mergeEntry(
  { event, offset }: DecodedEntry,
  items: Map<string, ItemFacts>,
  stored: ReadonlyMap<string, ItemFacts>,
): void {
  const factsOf = (id: NotificationId, owner: { tenantId: TenantId; recipient: string }): ItemFacts =>
    items.get(id) ?? stored.get(id) ?? unknownItem(id, owner);
  switch (event.type) {
    case 'NotificationRequested': {
      if (event.channel !== 'IN_APP') return;
      const facts = factsOf(event.notificationId, event);
      items.set(event.notificationId, { ...facts, content: lesserContent(facts.content, contentOf(event)) });
      return;
    }
    case 'AttemptSucceeded': {
      if (event.channel !== 'IN_APP') return;
      const facts = factsOf(event.notificationId, event);
      const sequence = facts.sequence === null ? offset : Math.min(facts.sequence, offset);
      items.set(event.notificationId, { ...facts, sequence });
      return;
    }
    case 'InboxRead':
      for (const id of event.notificationIds) {
        const facts = factsOf(id, event);
        // Nobody reads another's item.
        if (facts.tenantId !== event.tenantId || facts.recipient !== event.recipient) continue;
        if (isEarlierRead(event, offset, facts)) {
          items.set(id, { ...facts, readAt: event.occurredAt, readOffset: offset });
        }
      }
      return;
    default:
  }
}

function unknownItem(notificationId: NotificationId, owner: { tenantId: TenantId; recipient: string }): ItemFacts {
  const { tenantId, recipient } = owner;
  return { notificationId, tenantId, recipient, content: null, sequence: null, readAt: null, readOffset: null };
}

function contentOf(event: NotificationRequested): ItemContent {
  const { subject, body, data, sendAt } = event.request;
  return { title: subject, body, data, createdAt: Math.max(event.requestedAt, sendAt ?? 0) };
}

/** Of two requests with one id: the least, whatever came first. */
function lesserContent(a: ItemContent | null, b: ItemContent): ItemContent {
  if (a === null) return b;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? a : b;
  return JSON.stringify(a) <= JSON.stringify(b) ? a : b;
}

function isEarlierRead(event: InboxRead, offset: number, facts: ItemFacts): boolean {
  if (facts.readAt === null || facts.readOffset === null) return true;
  return event.occurredAt < facts.readAt || (event.occurredAt === facts.readAt && offset < facts.readOffset);
}
