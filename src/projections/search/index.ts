// The read model `search`: by which terms a notification is found. Written once for each, and it may lag.

import type { EventType, NotificationRequested } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import { workTopics } from '../../domain/topics.ts';
import type { CollectionDefinition, Write } from '../../ports/read-model-store.ts';
import type { ReadModel } from '../read-model.ts';
import { termsOf } from './terms.ts';

export interface SearchableDocument {
  readonly tenantId: TenantId;
  /** `requestedAt`, as of the record. */
  readonly listedAt: number;
  /** Its beginning: a prefix is checked before the record is fetched. */
  readonly recipient: string;
  readonly terms: readonly string[];
}

/** By the notification's id. A term's hash has the tenant in it, so no index needs to begin with that. */
export const searchableCollection: CollectionDefinition = {
  name: 'searchable',
  fields: { terms: 'texts', listedAt: 'number' },
  indexes: [{ fields: ['terms', 'listedAt'] }],
};

const recipientKeptMax = 64;

export const searchReadModel: ReadModel = {
  definition: { name: 'search', collections: [searchableCollection] },
  topics: workTopics,
  types: new Set<EventType>(['NotificationRequested']),
  mayLag: true,
  async fold(entries, reader) {
    const documents = new Map<string, SearchableDocument>();
    for (const { event } of entries) {
      if (event.type !== 'NotificationRequested') continue;
      const { notificationId } = event;
      documents.set(notificationId, lesser(documents.get(notificationId), toSearchable(event)));
    }
    if (documents.size === 0) return [];
    const stored = await reader.get<SearchableDocument>(searchableCollection.name, [...documents.keys()]);
    return [...documents].map(([id, document]): Write => {
      const before = stored.get(id);
      const isNew = before === undefined;
      return { collection: searchableCollection.name, id, document: lesser(before, document), isNew };
    });
  },
};

function toSearchable(event: NotificationRequested): SearchableDocument {
  const { tenantId, requestedAt, recipient } = event;
  return { tenantId, listedAt: requestedAt, recipient: recipient.slice(0, recipientKeptMax), terms: termsOf(event) };
}

/** Of two requests with one id: the least, whatever came first. */
function lesser(a: SearchableDocument | undefined, b: SearchableDocument): SearchableDocument {
  if (a === undefined) return b;
  if (a.listedAt !== b.listedAt) return a.listedAt < b.listedAt ? a : b;
  return JSON.stringify(a) <= JSON.stringify(b) ? a : b;
}
