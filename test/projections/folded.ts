// Folds entries without a store: documents as the JSON text that a store would hold.

import type { DecodedEntry, ReadModel } from '../../src/projections/read-model.ts';

/** Documents as JSON text by `collection/id`, in the order of their keys. */
export type Folded = ReadonlyMap<string, string>;

export async function folded(readModel: ReadModel, batches: readonly (readonly DecodedEntry[])[]): Promise<Folded> {
  const documents = new Map<string, string>();
  const { types, topics } = readModel;
  const reader = {
    async get<D extends object>(collection: string, ids: readonly string[]): Promise<ReadonlyMap<string, D>> {
      const found = new Map<string, D>();
      for (const id of ids) {
        const text = documents.get(`${collection}/${id}`);
        if (text !== undefined) found.set(id, JSON.parse(text) as D);
      }
      return found;
    },
    secret: async () => '0123456789abcdef'.repeat(2),
  };
  for (const batch of batches) {
    const wanted = batch.filter(
      ({ topic, event }) => topics.includes(topic) && (types === undefined || types.has(event.type)),
    );
    for (const { collection, id, document } of await readModel.fold(wanted, reader)) {
      if (document === null) documents.delete(`${collection}/${id}`);
      else documents.set(`${collection}/${id}`, JSON.stringify(document));
    }
  }
  return new Map([...documents].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The documents of one collection. */
export function documentsOf<D>(all: Folded, collection: string): D[] {
  return [...all].filter(([key]) => key.startsWith(`${collection}/`)).map(([, text]) => JSON.parse(text) as D);
}
