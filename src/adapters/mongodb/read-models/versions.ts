// Which version of a read model is in use: one document for each, and each process's view of them.
//
//   beginRebuild: next = n+1 ──> swap: version = n+1, n is retired ──> 15 s later n's collections are dropped
//
// A view is believed for a second, so a reader may be in the retired version a second longer, with a query of some seconds on its way: that is why a
// retired one is kept. One version is never seen half and another half.

import type { Collection, Db } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import type { ReadModelDefinition } from '../../../ports/read-model-store.ts';
import { anyId, type StoredCollection, storedCollectionOf } from './stored-collection.ts';

/** A view is believed for so long. */
export const viewMs = 1000;
/** And so long while there is a next version: what is held moves no more, and a view that is older than the swap shows that. */
const viewOfRebuiltMs = 100;
/** A retired version is kept for so long: a view's time, two queries of 4.5 s at the worst, and as much again. */
export const retiredKeptMs = 15_000;

/** As versions hold it: without the shapes of documents, which nothing here follows from. Another text makes a start look at every document. */
export function definitionText(definition: ReadModelDefinition): string {
  const collections = definition.collections.map((collection) => {
    const { shape: _shape, ...stored } = collection;
    return stored;
  });
  return JSON.stringify({ ...definition, collections });
}

/** The document of a read model. Definitions are JSON text. */
export interface VersionsDocument {
  readonly _id: string;
  /** In use; null before the first. */
  readonly version: number | null;
  readonly definition: string;
  /** The definition whose fields all documents have beside their text: another one than `definition` while they are being filled. */
  readonly filled: string;
  readonly next: {
    readonly version: number;
    readonly definition: string;
    /** How often the two were held: the last one to do so holds them. */
    readonly holds?: number;
    readonly isHeld?: boolean;
  } | null;
  /** The highest number ever given. */
  readonly lastVersion: number;
  /** See ReadModelReader; absent where a process of before it has made the read model. */
  readonly secret?: string;
  /** The last comparison with a version beside it, JSON. */
  readonly compared?: string;
  /** Its first version was made and hasn't reached the log's end yet. */
  readonly catchingUp?: true;
  /** Of that version: its indexes are made when it has. */
  readonly unindexed?: true;
  readonly retired?: readonly { readonly version: number; readonly definition: string; readonly at: Date }[];
}

/** Once it has caught up it is indexed, also by a release that knows nothing of this. */
export function isUnindexed({ catchingUp, unindexed }: Pick<VersionsDocument, 'catchingUp' | 'unindexed'>): boolean {
  return catchingUp === true && unindexed === true;
}

export interface ModelVersion {
  readonly name: string;
  readonly version: number;
  readonly collections: readonly StoredCollection[];
}

export interface View {
  /** @throws Error when the read model isn't prepared, or the store is away */
  model(readModel: string): Promise<ModelVersion>;
  /** @throws Error when no read model has the collection, or the store is away */
  collection(collection: string): Promise<StoredCollection>;
  /** The version that was in use when the view was last read. */
  versionSeen(readModel: string): number | undefined;
  /** For how long it is believed now. */
  maxAgeMs(): number;
  /** Reads the versions anew, whatever the view's age. */
  refresh(): Promise<void>;
}

export function versionsOf(db: Db): Collection<VersionsDocument> {
  return db.collection<VersionsDocument>('read_models');
}

export function modelVersionOf(definition: ReadModelDefinition, version: number): ModelVersion {
  const collections = definition.collections.map((of) => storedCollectionOf(definition.name, version, of));
  return { name: definition.name, version, collections };
}

export function modelVersionFrom(definitionText: string, version: number): ModelVersion {
  return modelVersionOf(JSON.parse(definitionText) as ReadModelDefinition, version);
}

/** @param swapped called with a read model whose version is another one than it was */
export function createView(db: Db, clock: Clock, swapped: (readModel: string) => void): View {
  let models = new Map<string, ModelVersion>();
  let collections = new Map<string, StoredCollection>();
  let loadedAt = Number.NEGATIVE_INFINITY;
  let maxAgeMs = viewMs;
  let loading: Promise<void> | null = null;

  const load = async (): Promise<void> => {
    const startedAt = clock.monotonic();
    const documents = await versionsOf(db).find(anyId).toArray();
    const before = models;
    models = new Map(
      documents.flatMap(({ _id, version, definition }) =>
        version === null ? [] : [[_id, modelVersionFrom(definition, version)]],
      ),
    );
    collections = new Map([...models.values()].flatMap((model) => model.collections.map((of) => [of.collection, of])));
    loadedAt = startedAt;
    maxAgeMs = documents.some(({ next }) => next !== null) ? viewOfRebuiltMs : viewMs;
    for (const [name, { version }] of models) {
      if (before.has(name) && before.get(name)?.version !== version) swapped(name);
    }
  };
  const refreshed = (): Promise<void> => {
    loading ??= load().finally(() => (loading = null));
    return loading;
  };
  const current = async (): Promise<void> => {
    if (clock.monotonic() - loadedAt >= maxAgeMs) await refreshed();
  };
  return {
    async model(readModel) {
      await current();
      if (!models.has(readModel)) await refreshed();
      const model = models.get(readModel);
      if (model === undefined) throw new Error(`the read model ${readModel} isn't prepared`);
      return model;
    },
    async collection(name) {
      await current();
      if (!collections.has(name)) await refreshed();
      const collection = collections.get(name);
      if (collection === undefined) throw new Error(`no read model that is prepared has a collection ${name}`);
      return collection;
    },
    versionSeen: (readModel) => models.get(readModel)?.version,
    maxAgeMs: () => maxAgeMs,
    async refresh() {
      // One on its way may have read before the caller's reason to ask.
      if (loading !== null) await loading;
      await refreshed();
    },
  };
}

/** The view of a store for one version that nobody else uses. */
export function fixedView(model: ModelVersion): View {
  return {
    async model(readModel) {
      if (readModel !== model.name) throw new Error(`this store is for the rebuild of ${model.name} alone`);
      return model;
    },
    async collection(name) {
      const collection = model.collections.find((of) => of.collection === name);
      if (collection === undefined) throw new Error(`${model.name} has no collection ${name}`);
      return collection;
    },
    versionSeen: (readModel) => (readModel === model.name ? model.version : undefined),
    maxAgeMs: () => viewMs,
    async refresh() {
      // It stays what it is.
    },
  };
}
