// The documents of a batch as statements: each document once, new ones inserted, others replaced, one command for each kind.
//
// Measured by batches of 500 events of the notifications read model: inserting what is known to be new takes half of what replacing or inserting takes of mongod,
// 55 us a document instead of 100.

import { type ClientSession, type Db, type Document, type ErrorDescription, MongoServerError } from 'mongodb';

import type { Write } from '../../../ports/read-model-store.ts';
import { type StoredCollection, type StoredDocument, toStored } from './stored-collection.ts';
import type { ModelVersion } from './versions.ts';

export interface Batch {
  readonly parts: readonly BatchPart[];
  /** The same when a hint that a document is new was wrong. */
  withoutHints(): Batch;
}

interface BatchPart {
  readonly collection: string;
  readonly inserted: readonly StoredDocument[];
  readonly replaced: readonly StoredDocument[];
  readonly removed: readonly string[];
}

/** @throws TypeError where a declared field has another type; Error for a collection that the read model doesn't have */
export function batchOf(model: ModelVersion, writes: readonly Write[]): Batch {
  const parts = new Map<StoredCollection, Map<string, Write>>();
  for (const write of writes) {
    const collection = model.collections.find((of) => of.collection === write.collection);
    if (collection === undefined) throw new Error(`${model.name} has no collection ${write.collection}`);
    const ofCollection = parts.get(collection) ?? new Map<string, Write>();
    // The last write of a document counts.
    parts.set(collection, ofCollection.set(write.id, write));
  }
  return batchFrom([...parts].map(([collection, ofCollection]) => partOf(collection, [...ofCollection.values()])));
}

function batchFrom(parts: readonly BatchPart[]): Batch {
  return {
    parts,
    withoutHints: () =>
      batchFrom(parts.map((part) => ({ ...part, inserted: [], replaced: [...part.replaced, ...part.inserted] }))),
  };
}

function partOf(collection: StoredCollection, writes: readonly Write[]): BatchPart {
  const inserted: StoredDocument[] = [];
  const replaced: StoredDocument[] = [];
  const removed: string[] = [];
  for (const { id, document, isNew } of writes) {
    if (document === null) removed.push(id);
    else (isNew === true ? inserted : replaced).push(toStored(collection, id, document));
  }
  return { collection: collection.name, inserted, replaced, removed };
}

/**
 * A session runs one command after another. As commands, not by the driver's bulk operations, which serialize each document twice to know its size.
 * @throws MongoServerError of the first document that was refused
 */
export async function writeBatch(db: Db, batch: Batch, session: ClientSession): Promise<void> {
  const run = async (command: Document) => {
    const { writeErrors } = (await db.command(command, { session })) as {
      readonly writeErrors?: readonly ErrorDescription[];
    };
    const [refused] = writeErrors ?? [];
    if (refused !== undefined) throw new MongoServerError(refused);
  };
  for (const { collection, inserted, replaced, removed } of batch.parts) {
    for (const documents of slices(inserted)) await run({ insert: collection, documents, ordered: false });
    for (const documents of slices(replaced))
      await run({ update: collection, updates: documents.map(replacement), ordered: false });
    for (let at = 0; at < removed.length; at += commandDocumentsMax) {
      const ids = removed.slice(at, at + commandDocumentsMax);
      await run({ delete: collection, deletes: [{ q: { _id: { $in: ids } }, limit: 0 }] });
    }
  }
}

/**
 * The server takes 100,000 documents in a command, and 16 MiB. A character is 3 bytes at most, and fields stand in the JSON text and beside it: 12 MiB,
 * and 2 MiB for what encloses them.
 */
const commandDocumentsMax = 10_000;
const commandCharactersMax = 2 * 1024 * 1024;

/** As many documents as one command takes; a single one that is longer goes alone. */
function* slices(documents: readonly StoredDocument[]): Generator<readonly StoredDocument[]> {
  let from = 0;
  let characters = 0;
  for (const [i, { json }] of documents.entries()) {
    if (i > from && (i - from >= commandDocumentsMax || characters + json.length > commandCharactersMax)) {
      yield documents.slice(from, i);
      [from, characters] = [i, 0];
    }
    characters += json.length;
  }
  if (from < documents.length) yield from === 0 ? documents : documents.slice(from);
}

function replacement(document: StoredDocument): Document {
  return { q: { _id: document._id }, u: document, upsert: true };
}
