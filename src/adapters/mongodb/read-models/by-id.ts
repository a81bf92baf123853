// Documents by their ids.

import type { Db } from 'mongodb';

import { type Document, type Only, TooManyBytesError } from '../../../ports/read-model-store.ts';
import { queryMs } from './queries.ts';
import type { StoredCollection, StoredDocument } from './stored-collection.ts';
import { documentOf, fittingOf, projectionOf, type Size, sizeProjection } from './wanted.ts';

/** Ids asked for at a time: an answer of about 1 MB. */
const idsPerQuery = 1000;

/** In the order of the ids. */
export async function documentsById<D extends Document>(
  db: Db,
  collection: StoredCollection,
  ids: readonly string[],
  only: Only,
): Promise<Map<string, D>> {
  const unordered = new Map<string, D>();
  const { fields, bytesMax } = only;
  const wanted =
    fields === undefined && bytesMax !== undefined ? await fittingIds(db, collection, ids, { ...only, bytesMax }) : ids;
  for await (const row of rowsById<StoredDocument>(db, collection, wanted, projectionOf(collection, [], fields)))
    unordered.set(row._id, documentOf(row, fields) as D);
  const found = new Map<string, D>();
  for (const id of wanted) {
    const document = unordered.get(id);
    if (document !== undefined) found.set(id, document);
  }
  return found;
}

/** The first ids of those that have a document, as many as its bytes allow. */
async function fittingIds(
  db: Db,
  collection: StoredCollection,
  ids: readonly string[],
  { bytesMax, orRefuse }: Only & { readonly bytesMax: number },
): Promise<string[]> {
  const sizes = new Map<string, number>();
  for await (const row of rowsById<Size & { _id: string }>(db, collection, ids, sizeProjection))
    sizes.set(row._id, row.bytes);
  const present: string[] = [];
  const bytes: number[] = [];
  for (const id of ids) {
    const size = sizes.get(id);
    if (size === undefined) continue;
    present.push(id);
    bytes.push(size);
  }
  const fitting = fittingOf(bytes, bytesMax);
  if (fitting < present.length && orRefuse === true) throw new TooManyBytesError(collection.collection, bytesMax);
  return present.slice(0, fitting);
}

async function* rowsById<R extends object>(
  db: Db,
  collection: StoredCollection,
  ids: readonly string[],
  projection: object,
): AsyncGenerator<R, void> {
  for (let at = 0; at < ids.length; at += idsPerQuery) {
    const some = ids.slice(at, at + idsPerQuery);
    yield* await db
      .collection<StoredDocument>(collection.name)
      .find({ _id: { $in: some } }, { batchSize: some.length + 1, maxTimeMS: queryMs })
      .project<R>(projection)
      .toArray();
  }
}
