// The read model `search_2`: by which terms a notification is found. Written once for each, and it may lag.

import { isErased } from '../../domain/erasure.ts';
import type { DomainEvent, EventType, NotificationRequested } from '../../domain/events.ts';
import type { NotificationId, TenantId } from '../../domain/ids.ts';
import { retentionTopic, settingsTopic, workTopics } from '../../domain/topics.ts';
import type { CollectionDefinition, ReadModelReader, Write } from '../../ports/read-model-store.ts';
import type { ReadModel } from '../read-model.ts';
import type { TermKeys } from './terms.ts';
import { termKeysOf, termLength, termsOf } from './terms.ts';

export interface SearchableDocument {
  readonly tenantId: TenantId;
  /** `requestedAt`, as of the record. */
  readonly listedAt: number;
  /** Its beginning: a prefix is checked before the record is fetched. */
  readonly recipient: string;
  readonly terms: readonly string[];
}

/** By the notification's id. A term's hash is the tenant's own, so no index needs to begin with that. */
export const searchableCollection: CollectionDefinition = {
  name: 'searchable_2',
  fields: { terms: 'texts', listedAt: 'number' },
  indexes: [{ fields: ['terms', 'listedAt'] }],
  shape: { keys: ['tenantId', 'listedAt', 'recipient', 'terms'], beside: ['listedAt'], texts: { terms: termLength } },
};

const recipientKeptMax = 64;

/** `search_2`, since it replaced one whose terms had no secret in them; see `inbox_2`. */
const name = 'search_2';

export const searchReadModel: ReadModel = {
  definition: { name, collections: [searchableCollection] },
  topics: [...workTopics, retentionTopic, settingsTopic],
  types: new Set<EventType>([
    'NotificationRequested',
    'NotificationsForgotten',
    'RecipientErased',
    'TenantErased',
    'TenantForgotten',
  ]),
  mayLag: true,
  async fold(entries, reader) {
    const keysOf = keysBy(await reader.secret(name));
    /** null: forgotten, or erased. */
    const documents = new Map<string, SearchableDocument | null>();
    const ids = new Set<string>();
    for (const { event } of entries) for (const id of documentsOf(event)) ids.add(id);
    if (ids.size === 0) return [];
    const stored = await reader.get<SearchableDocument>(searchableCollection.name, [...ids]);
    for (const { event } of entries) {
      if (event.type === 'NotificationsForgotten') for (const id of event.notificationIds) documents.set(id, null);
      if (event.type !== 'NotificationRequested' || isErased(event)) continue;
      const { notificationId } = event;
      const known = documents.get(notificationId);
      const before = known === undefined ? stored.get(notificationId) : (known ?? undefined);
      documents.set(notificationId, lesser(before, toSearchable(keysOf(event.tenantId), event)));
    }
    for (const { event } of entries) {
      if (event.type !== 'RecipientErased' && event.type !== 'TenantForgotten') continue;
      for (const id of event.notificationIds)
        if ((documents.get(id) ?? stored.get(id))?.tenantId === event.tenantId) documents.set(id, null);
    }
    return [...documents].flatMap(([id, document]): Write[] => {
      const isNew = !stored.has(id);
      return isNew && document === null ? [] : [{ collection: searchableCollection.name, id, document, isNew }];
    });
  },
};

function documentsOf(event: DomainEvent): readonly NotificationId[] {
  switch (event.type) {
    case 'NotificationRequested':
      return [event.notificationId];
    case 'NotificationsForgotten':
    case 'RecipientErased':
    case 'TenantForgotten':
      return event.notificationIds;
    default:
      return [];
  }
}

/** The keys of a secret are the store's; @throws Error when it isn't prepared */
export async function keysOfTenant(reader: Pick<ReadModelReader, 'secret'>, tenantId: TenantId): Promise<TermKeys> {
  return termKeysOf(await reader.secret(name), tenantId);
}

function keysBy(secret: string): (tenantId: TenantId) => TermKeys {
  const known = new Map<TenantId, TermKeys>();
  return (tenantId) => {
    const keys = known.get(tenantId) ?? termKeysOf(secret, tenantId);
    known.set(tenantId, keys);
    return keys;
  };
}

function toSearchable(keys: TermKeys, event: NotificationRequested): SearchableDocument {
  const { tenantId, requestedAt, recipient } = event;
  return {
    tenantId,
    listedAt: requestedAt,
    recipient: recipient.slice(0, recipientKeptMax),
    terms: termsOf(keys, event),
  };
}

/** Of two requests with one id: the least, whatever came first. */
function lesser(a: SearchableDocument | undefined, b: SearchableDocument): SearchableDocument {
  if (a === undefined) return b;
  if (a.listedAt !== b.listedAt) return a.listedAt < b.listedAt ? a : b;
  return JSON.stringify(a) <= JSON.stringify(b) ? a : b;
}
