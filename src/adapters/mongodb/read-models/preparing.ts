// Makes the collections of a read model what its definition declares: collections, indexes, and fields of documents that are there already.
// Everything may be done again, and by several processes at once.

import { randomBytes } from 'node:crypto';

import { type AnyBulkWriteOperation, type Collection, type Db, MongoServerError } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import type { IndexesMade, ReadModelDefinition } from '../../../ports/read-model-store.ts';
import type { StoredCollection, StoredDocument, StoredIndex } from './stored-collection.ts';
import { anyId, fieldsOf } from './stored-collection.ts';
import type { ModelVersion } from './versions.ts';
import {
  definitionText,
  isUnindexed,
  modelVersionFrom,
  modelVersionOf,
  type VersionsDocument,
  versionsOf,
  viewMs,
} from './versions.ts';

/** The version in use, the first one if there is none. Answers whether anything had to be made. */
export async function prepareCurrent(
  db: Db,
  clock: Clock,
  definition: ReadModelDefinition,
  indexes: IndexesMade = 'at once',
): Promise<boolean> {
  const text = definitionText(definition);
  const stored = await declared(db, definition, text, indexes);
  if (stored.version === null) throw new Error(`the read model ${definition.name} has no version`);
  const model = modelVersionOf(definition, stored.version);
  let changed = stored.filled !== text;
  for (const collection of model.collections) {
    if (await makeCollection(db, collection)) changed = true;
  }
  if (stored.filled !== text) await fillFields(db, clock, modelVersionFrom(stored.filled, stored.version), model);
  if (!isUnindexed(stored)) {
    for (const collection of model.collections) if (await alignIndexes(db, collection)) changed = true;
  }
  const { name: _id } = definition;
  await versionsOf(db).updateOne({ _id, version: stored.version, definition: text }, { $set: { filled: text } });
  return changed;
}

/** A version's empty collections. */
export async function makeCollections(db: Db, model: ModelVersion): Promise<void> {
  for (const collection of model.collections) await makeCollection(db, collection);
}

/**
 * Those of a version that are missing. Of a filled collection they are made by one pass over it, while others go on reading and writing; whoever asks for the
 * same at once waits for them. False when the signal has ended it before.
 */
export async function makeIndexes(db: Db, model: ModelVersion, signal?: AbortSignal): Promise<boolean> {
  for (const collection of model.collections) {
    if (signal?.aborted === true) return false;
    await alignIndexes(db, collection);
  }
  return true;
}

export async function dropCollections(db: Db, model: ModelVersion): Promise<void> {
  for (const { name } of model.collections) await db.dropCollection(name);
}

/** The read model's document with this definition. From now on writers use it, as soon as their views have aged. */
async function declared(
  db: Db,
  of: ReadModelDefinition,
  definition: string,
  indexes: IndexesMade,
): Promise<VersionsDocument> {
  const { name: readModel } = of;
  const versions = versionsOf(db);
  const first = [
    { $set: { lastVersion: { $add: [{ $ifNull: ['$lastVersion', 0] }, 1] } } },
    {
      $set: {
        version: '$lastVersion',
        definition: { $literal: definition },
        filled: { $literal: definition },
        next: { $ifNull: ['$next', null] },
        catchingUp: true,
        unindexed: indexes === 'once filled' ? true : '$$REMOVE',
      },
    },
  ];
  const known = await versions.findOne({ _id: readModel });
  if (known === null || known.version === null) {
    // Two processes may start at the same time: the second finds what the first has made.
    await ignoring(duplicateKey, versions.updateOne({ _id: readModel, version: null }, first, { upsert: true }));
  }
  const after = { returnDocument: 'after' } as const;
  const declaration = [{ $set: { definition: { $literal: definition }, secret: await keptSecret(db, of) } }];
  const document = await versions.findOneAndUpdate({ _id: readModel }, declaration, after);
  if (document === null) throw new Error(`the read model ${readModel} could not be declared`);
  return document;
}

/** In a pipeline: the one that is there, that of the read model which it is to share, or a new one. It is lost, copied and moved together with what is made by it. */
export async function keptSecret(db: Db, { secretOf }: ReadModelDefinition) {
  const other = secretOf === undefined ? null : await versionsOf(db).findOne({ _id: secretOf });
  return { $ifNull: ['$secret', other?.secret ?? randomBytes(secretBytes).toString('hex')] };
}

const secretBytes = 16;

async function makeCollection(db: Db, { name }: StoredCollection): Promise<boolean> {
  const [known] = await db.listCollections({ name }, { nameOnly: true }).toArray();
  if (known !== undefined) return false;
  await ignoring(namespaceExists, db.createCollection(name));
  return true;
}

async function alignIndexes(db: Db, { name, indexes }: StoredCollection): Promise<boolean> {
  const collection = db.collection(name);
  const present = new Set((await collection.listIndexes().toArray()).map((index) => String(index['name'])));
  present.delete('_id_');
  const missing = indexes.filter((index) => !present.has(index.name));
  if (missing.length > 0) await collection.createIndexes(missing.map(indexDescription));
  const surplus = [...present].filter((of) => !indexes.some((index) => index.name === of));
  for (const of of surplus) await ignoring(indexNotFound, collection.dropIndex(of));
  return missing.length > 0 || surplus.length > 0;
}

function indexDescription({ name, fields, sparse }: StoredIndex) {
  const key = Object.fromEntries([...fields, '_id'].map((field) => [field, 1] as const));
  if (!sparse) return { name, key };
  return { name, key, partialFilterExpression: Object.fromEntries(fields.map((field) => [field, { $exists: true }])) };
}

/** Writers of other processes go by the former definition for a view's time, and a batch of theirs takes some more. */
const formerWritersMs = viewMs + 1000;

async function fillFields(db: Db, clock: Clock, before: ModelVersion, after: ModelVersion): Promise<void> {
  const filled: [Collection<StoredDocument>, StoredCollection][] = [];
  for (const collection of after.collections) {
    const fields = before.collections.find((of) => of.collection === collection.collection)?.fields ?? {};
    if (Object.entries(collection.fields).every(([field, type]) => fields[field] === type)) continue;
    const documents = db.collection<StoredDocument>(collection.name);
    if ((await documents.findOne(anyId, { projection: { _id: 1 } })) !== null) filled.push([documents, collection]);
  }
  if (filled.length === 0) return;
  await clock.sleep(formerWritersMs);
  for (const [documents, collection] of filled) await fillCollection(documents, collection);
}

const documentsPerWrite = 500;

async function fillCollection(documents: Collection<StoredDocument>, collection: StoredCollection): Promise<void> {
  let writes: AnyBulkWriteOperation<StoredDocument>[] = [];
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await documents.bulkWrite(writes, { ordered: false });
    writes = [];
  };
  for await (const { _id, json } of documents.find(anyId, { projection: { json: 1 }, sort: { _id: 1 } })) {
    const fields = fieldsOf(collection, JSON.parse(json) as object);
    // One that was replaced meanwhile has its fields already.
    const replacement = { ...fields, json };
    writes.push({ replaceOne: { filter: { _id, json }, replacement } });
    if (writes.length >= documentsPerWrite) await flush();
  }
  await flush();
}

const duplicateKey = 11_000;
const namespaceExists = 48;
const indexNotFound = 27;

async function ignoring(code: number, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === code)) throw error;
  }
}
