// A collection's documents by their ids: the order of the index of ids, which MongoDB compares as bytes.

import type { Db } from 'mongodb';

import type { DocumentScan } from '../../../ports/document-scan.ts';
import { queryMs } from './queries.ts';
import type { StoredDocument } from './stored-collection.ts';
import type { View } from './versions.ts';
import { fittingOf, type Size, sizeProjection } from './wanted.ts';

export function createScan(db: Db, view: View): DocumentScan {
  return {
    async scan(collection, { after, limit, bytesMax }) {
      const { name } = await view.collection(collection);
      // No id is empty.
      const rows = (count: number) =>
        db
          .collection<StoredDocument>(name)
          .find(
            { _id: { $gt: after ?? '' } },
            { sort: { _id: 1 }, limit: count, batchSize: count, maxTimeMS: queryMs },
          );
      // The sizes first: what doesn't fit is not sent.
      const sizes = await rows(limit)
        .project<Size>({ ...sizeProjection, _id: 0 })
        .toArray();
      if (sizes.length === 0) return [];
      const fitting = fittingOf(
        sizes.map(({ bytes }) => bytes),
        bytesMax,
      );
      const found = await rows(fitting).project<{ _id: string; json: string }>({ json: 1 }).toArray();
      return found.map(({ _id: id, json: text }) => ({ id, text }));
    },
    async size(collection) {
      const { name } = await view.collection(collection);
      return db.collection(name).estimatedDocumentCount({ maxTimeMS: queryMs });
    },
  };
}
