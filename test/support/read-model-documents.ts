// All documents of all read models as the stores keep them, without their adapters' queries, so that two stores can be held against each other.

import { DatabaseSync } from 'node:sqlite';

import { MongoClient } from 'mongodb';

import { textOfRow } from '../../src/adapters/sqlite/read-models/packing.ts';
import { loadVersions } from '../../src/adapters/sqlite/read-models/view.ts';
import type { ReadModelDefinition } from '../../src/ports/read-model-store.ts';

export interface StoredReadModels {
  /** By collection and id. */
  readonly documents: ReadonlyMap<string, unknown>;
  /** The next offset to fold, by read model, partition number and topic. */
  readonly positions: ReadonlyMap<string, number>;
}

type Documents = readonly (readonly [id: string, json: string])[];
type Offsets = readonly (readonly [partition: number, json: string])[];

/** @param path of views.db; of a service that runs, as far as it has folded just now */
export function documentsInSqlite(path: string): StoredReadModels {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const positions = db.prepare('SELECT partition, offsets FROM positions WHERE read_model = ? AND version = ?');
    return collected(
      loadVersions(db, 'current').map(({ name, version, tables }) => ({
        model: name,
        collections: tables.map((table) => {
          const select = db.prepare(`SELECT ${[...table.documentColumns, 'id'].join(', ')} FROM ${table.name}`);
          select.setReturnArrays(true);
          const rows = select.all() as unknown as (string | number | null)[][];
          const documents = rows.map(
            (row) => [String(row.at(-1)), textOfRow(table.packing, String(row.at(-1)), row)] as const,
          );
          return { collection: table.collection, documents };
        }),
        offsets: positions
          .all(name, version)
          .map(({ partition, offsets }) => [Number(partition), String(offsets)] as const),
      })),
    );
  } finally {
    db.close();
  }
}

/** Nothing while no process has made read models there. */
export async function documentsInMongo(url: string): Promise<StoredReadModels> {
  const client = await new MongoClient(url).connect();
  try {
    const db = client.db();
    const versions = await db.collection('read_models').find().toArray();
    const positions = await db.collection('read_model_positions').find().toArray();
    const models = versions.map(async ({ _id: name, version, definition }) => ({
      model: String(name),
      collections: await Promise.all(
        collectionsOf(String(definition)).map(async (collection) => {
          const found = await db
            .collection(`${String(name)}_v${String(version)}_${collection}`)
            .find()
            .toArray();
          return { collection, documents: found.map(({ _id, json }) => [String(_id), String(json)] as const) };
        }),
      ),
      offsets: positions
        .filter(({ _id }) => String(_id).startsWith(`${String(name)}:${String(version)}:`))
        .map(({ partition, offsets }) => [Number(partition), String(offsets)] as const),
    }));
    return collected(await Promise.all(models));
  } finally {
    await client.close();
  }
}

/** Every document of every collection, as BSON, by the collection's name. */
export async function bytesInMongo(url: string): Promise<ReadonlyMap<string, Buffer>> {
  const client = await new MongoClient(url).connect();
  try {
    const found = new Map<string, Buffer>();
    for (const { name } of await client.db().listCollections({}, { nameOnly: true }).toArray()) {
      const documents = await client.db().collection(name).find({}, { raw: true }).toArray();
      // As they came: `raw` gives the bytes in place of objects.
      found.set(name, Buffer.concat(documents as unknown as readonly Uint8Array[]));
    }
    return found;
  } finally {
    await client.close();
  }
}

function collectionsOf(definition: string): readonly string[] {
  return (JSON.parse(definition) as ReadModelDefinition).collections.map(({ name }) => name);
}

function collected(
  models: readonly {
    readonly model: string;
    readonly collections: readonly { readonly collection: string; readonly documents: Documents }[];
    readonly offsets: Offsets;
  }[],
): StoredReadModels {
  const documents = new Map<string, unknown>();
  const positions = new Map<string, number>();
  for (const { model, collections, offsets } of models) {
    for (const { collection, documents: found } of collections)
      for (const [id, json] of found) documents.set(`${collection} ${id}`, JSON.parse(json));
    for (const [partition, json] of offsets)
      for (const [topic, offset] of Object.entries(JSON.parse(json) as Record<string, number>))
        positions.set(`${model} ${partition} ${topic}`, offset);
  }
  return { documents, positions };
}
