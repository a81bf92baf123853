// Which version of which read model a connection uses: the `read_models` table, and the tables that follow from it.
//
// A rebuild fills version n+1 (state `next`) beside n (`current`) and swaps them, also while the service runs: so a reader looks whether its view is still
// right whenever anything was written, and a query goes on in the version that it began in, which stays for a while.

import type { DatabaseSync } from 'node:sqlite';

import type { ReadModelDefinition } from '../../../ports/read-model-store.ts';
import type { Connection } from '../connection.ts';
import type { Table } from './tables.ts';
import { tableOf } from './tables.ts';

export type VersionState = 'current' | 'next';

export interface ModelVersion {
  readonly name: string;
  readonly version: number;
  readonly tables: readonly Table[];
}

export interface View {
  /** @throws Error when the read model isn't prepared */
  model(readModel: string): ModelVersion;
  /** @throws Error when no read model has the collection */
  table(collection: string): Table;
  /** Reads the versions and definitions again. */
  refresh(): void;
}

export const stateTablesSql = `
  CREATE TABLE IF NOT EXISTS read_models (
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('current', 'next')),
    version INTEGER NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (name, state)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS positions (
    read_model TEXT NOT NULL,
    version INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    offsets TEXT NOT NULL,
    PRIMARY KEY (read_model, version, partition)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS folded_ahead (
    read_model TEXT NOT NULL,
    version INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    ahead TEXT NOT NULL,
    PRIMARY KEY (read_model, version, partition)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS catching_up (read_model TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS unindexed (read_model TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS comparisons (read_model TEXT PRIMARY KEY, comparison TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS secrets (read_model TEXT PRIMARY KEY, secret TEXT NOT NULL) WITHOUT ROWID;`;

/** @param mayHaveChanged asked before each use; absent: whoever has the view refreshes it */
export function createView(load: () => readonly ModelVersion[], mayHaveChanged: () => boolean = () => false): View {
  let models = new Map<string, ModelVersion>();
  let tables = new Map<string, Table>();
  const refresh = () => {
    const loaded = load();
    models = new Map(loaded.map((model) => [model.name, model]));
    tables = new Map(loaded.flatMap((model) => model.tables.map((table) => [table.collection, table])));
  };
  return {
    refresh,
    model(readModel) {
      if (mayHaveChanged() || !models.has(readModel)) refresh();
      const model = models.get(readModel);
      if (model === undefined) throw new Error(`the read model ${readModel} isn't prepared`);
      return model;
    },
    table(collection) {
      if (mayHaveChanged()) refresh();
      const known = tables.get(collection);
      if (known !== undefined) return known;
      refresh();
      const table = tables.get(collection);
      if (table === undefined) throw new Error(`no read model that is prepared has a collection ${collection}`);
      return table;
    },
  };
}

export function loadVersions(db: DatabaseSync, state: VersionState): ModelVersion[] {
  const rows = db.prepare('SELECT name, version, definition FROM read_models WHERE state = ?').all(state);
  return rows.map((row) => {
    const definition = definitionIn(String(row['definition']));
    // A retired version has another name, and its tables the one of before.
    return { ...modelVersionOf(definition, Number(row['version'])), name: String(row['name']) };
  });
}

/** A version with packed documents is wrapped: a release that can't read them stops at it, where it would answer wrongly. */
interface Wrapped {
  readonly packed: ReadModelDefinition;
}

export function definitionText(definition: ReadModelDefinition): string {
  const isPacked = definition.collections.some(({ shape }) => shape !== undefined);
  return JSON.stringify(isPacked ? ({ packed: definition } satisfies Wrapped) : definition);
}

function definitionIn(text: string): ReadModelDefinition {
  const stored = JSON.parse(text) as ReadModelDefinition | Wrapped;
  return 'packed' in stored ? stored.packed : stored;
}

/** The definition with the documents kept as those of this version are: only another version has others. */
export function asKeptIn({ tables }: ModelVersion, definition: ReadModelDefinition): ReadModelDefinition {
  const collections = definition.collections.map(({ shape: declared, ...collection }) => {
    const table = tables.find((of) => of.collection === collection.name);
    const shape = table === undefined ? declared : table.packing?.shape;
    return shape === undefined ? collection : { ...collection, shape };
  });
  return { ...definition, collections };
}

/** Whether the versions in use are others than when it was asked last. A look at a number of SQLite's while nothing was written. */
export function versionsWatch(connect: () => Connection): () => boolean {
  let written: unknown = null;
  let versions = '';
  return () => {
    const connection = connect();
    const writtenNow = connection.rows('PRAGMA data_version', [])[0]?.[0];
    if (writtenNow === written) return false;
    written = writtenNow;
    const before = versions;
    versions = JSON.stringify(connection.rows("SELECT name, version FROM read_models WHERE state = 'current'", []));
    return versions !== before;
  };
}

export function modelVersionOf(definition: ReadModelDefinition, version: number): ModelVersion {
  const tables = definition.collections.map((collection) => tableOf(definition.name, version, collection));
  return { name: definition.name, version, tables };
}
