// views.db for its one writer: read models folded by the projectors, with their versions and positions.
//
// synchronous NORMAL: transactions stay atomic, and a power cut may take the last ones, positions included; they are
// folded again from the log, which is the truth. A killed process loses none.

import type { Clock } from '../../../ports/clock.ts';
import type { DocumentScan } from '../../../ports/document-scan.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Metrics } from '../../../ports/metrics.ts';
import type { BesideComparison, NextVersionStore, RebuildableStore } from '../../../ports/read-model-rebuild.ts';
import type { FoldPace, IndexesMade } from '../../../ports/read-model-store.ts';
import type { ReadModelDefinition, ReadModelStore } from '../../../ports/read-model-store.ts';
import { type Connection, openConnection } from '../connection.ts';
import { startGivingBack } from '../giving-back.ts';
import { type ChangeSignalEnd, tellChanges } from './change-signal.ts';
import type { IndexingDependencies } from './indexing.ts';
import { isIndexed, makeIndexes, noteUnindexed } from './indexing.ts';
import { createListeners } from './listeners.ts';
import { createReading } from './reading.ts';
import { abandonLeft, abandonNextVersion, beginNextVersion, compareVersions, leftVersion } from './rebuild.ts';
import { resumeNextVersion, retiredName, swapVersions } from './rebuild.ts';
import { removeSome } from './removal.ts';
import { createScan } from './scan.ts';
import { makeSecret } from './secrets.ts';
import { prepareTable } from './tables.ts';
import { asKeptIn, createView, definitionText, loadVersions, type ModelVersion } from './view.ts';
import { modelVersionOf, stateTablesSql, type View } from './view.ts';
import type { HeldSet } from './writing.ts';
import { checkpointPages, createWriting, fence, heldKey } from './writing.ts';

export interface ReadModelStoreOptions {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** The writer's end, when there are readers in other threads who wait for changes. */
  readonly changes?: ChangeSignalEnd;
  /** Of read models that are made in it, by name: those of another store, so that the same documents follow. Absent: by chance. */
  readonly secrets?: ReadonlyMap<string, string>;
}

/** One process at a time, and in it one store. @throws Error when the file can't be opened */
export function openReadModelStore(options: ReadModelStoreOptions): ReadModelStore & RebuildableStore & DocumentScan {
  const connection = openConnection(options.path, {
    synchronous: 'NORMAL',
    cacheKib: 8 * 1024,
    checkpointPages: checkpointPages.few,
    holds: 'read_models',
    givesBack: true,
  });
  connection.db.exec(stateTablesSql);
  const { clock, logger, metrics } = options;
  const giveBack = startGivingBack({ db: connection.db, clock, logger, metrics, file: 'views' });
  const tell = options.changes === undefined ? () => undefined : tellChanges(options.changes);
  const view = createView(() => loadVersions(connection.db, 'current'));
  const held: HeldSet = new Set();
  /** By read model: who holds its versions. */
  const holders = new Map<string, symbol>();
  const indexing = { connection, clock, logger };
  const { store, changed } = storeOn(indexing, view, held, tell);
  const swap = (readModel: string): void => {
    swapVersions(connection, readModel);
    view.refresh();
    changed(readModel);
  };
  return {
    ...store,
    async prepare(definition, indexes) {
      const secret = options.secrets?.get(definition.name);
      if (prepareCurrent(connection, definition, { secret, indexes }))
        options.logger.info('read model prepared', { readModel: definition.name });
      view.refresh();
    },
    async removeSome(readModel) {
      const left = removeSome(connection, readModel);
      view.refresh();
      return left;
    },
    async close() {
      giveBack.close();
      emptyWal(connection);
      connection.close();
    },
    async beginRebuild(definition, indexes) {
      return nextStore(indexing, beginNextVersion(connection, definition, indexes), held);
    },
    compare: async (definition) => compareVersions(connection, definition.name),
    nextVersion: async (definition) => leftVersion(connection.db, definition.name)?.version ?? null,
    async resumeRebuild(definition) {
      return nextStore(indexing, resumeNextVersion(connection, definition.name), held);
    },
    async hold({ name }, version) {
      const next = leftVersion(connection.db, name);
      if (next?.version !== version) return null;
      const both = [view.model(name), next];
      for (const one of both) {
        held.add(heldKey(one));
        fence(connection, one);
      }
      const own = Symbol(name);
      holders.set(name, own);
      const isOwn = () => holders.get(name) === own;
      const release = () => {
        if (!isOwn()) return;
        holders.delete(name);
        for (const one of both) held.delete(heldKey(one));
      };
      return {
        next: nextStore(indexing, next, new Set()),
        release: async () => release(),
        async swap() {
          if (!isOwn() || leftVersion(connection.db, name)?.version !== version) return 'over';
          swap(name);
          release();
          return 'swapped';
        },
      };
    },
    async letGo({ name }, version) {
      const next = leftVersion(connection.db, name);
      if (next?.version !== version || !holders.delete(name)) return;
      for (const one of [view.model(name), next]) {
        held.delete(heldKey(one));
        fence(connection, one);
      }
    },
    swap: async (definition) => swap(definition.name),
    removeRetired: async (definition) => removeSome(connection, retiredName(definition.name)),
    async noteComparison(readModel, comparison) {
      const upsert = `INSERT INTO comparisons (read_model, comparison) VALUES (?, ?)
        ON CONFLICT DO UPDATE SET comparison = excluded.comparison`;
      connection.statement(upsert).run(readModel, JSON.stringify(comparison));
    },
    async lastComparison(readModel) {
      const row = connection.statement('SELECT comparison FROM comparisons WHERE read_model = ?').get(readModel);
      return row === undefined ? null : (JSON.parse(String(row['comparison'])) as BesideComparison);
    },
    async abandon(definition) {
      holders.delete(definition.name);
      held.delete(heldKey(view.model(definition.name)));
      abandonNextVersion(connection, definition.name);
    },
  };
}

/** SQLite leaves that to the last connection that is closed, and a service's last one only reads: 33 MB stayed beside the file, and the next start read them. */
function emptyWal({ db }: Connection): void {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A full disk: it stays where it is, as it does when the process is killed.
  }
}

/** 500 documents of 2 KiB are written in 10 to 40 ms. The store commits all numbers of a beat together; 20 commits beside it take 6 ms in 100. */
const pace: FoldPace = { eventsMax: 500, fewMs: 25, manyMs: 100, unrestedMax: 20, inThread: true };

function storeOn(indexing: IndexingDependencies, view: View, held: HeldSet, tell: (readModel: string) => void) {
  const { connection } = indexing;
  const listeners = createListeners();
  const changed = (readModel: string) => {
    tell(readModel);
    listeners.changed(readModel);
  };
  const store = {
    pace,
    ...createReading(() => connection, view),
    ...createScan(() => connection, view),
    ...createWriting({ ...indexing, view, held, changed }),
    onChange: (readModel: string, listener: () => void) => listeners.add(readModel, listener),
    ready: async () => connection.db.isOpen,
  };
  return { store, changed };
}

/** The store of a version that nobody reads yet: whoever waits for the read model hears of it when it is swapped in. */
function nextStore(indexing: IndexingDependencies, next: ModelVersion, held: HeldSet): NextVersionStore {
  const { store } = storeOn(
    indexing,
    createView(() => [next]),
    held,
    () => undefined,
  );
  return {
    ...store,
    async prepare(definition) {
      if (definition.name !== next.name) throw new Error(`this store is for the rebuild of ${next.name} alone`);
    },
    // Whether the read model has caught up is said of the version in use.
    async noteCaughtUp(_readModel, signal) {
      await makeIndexes(indexing, next, signal);
    },
    async removeSome(readModel) {
      throw new Error(`this store is for the rebuild of ${next.name} alone: it doesn't remove ${readModel}`);
    },
    async close() {
      // The version and the connection are the store's that began the rebuild.
    },
  };
}

const catchingUpSql = 'INSERT INTO catching_up (read_model) VALUES (?) ON CONFLICT DO NOTHING';

/** Answers whether anything had to be made. */
function prepareCurrent(
  connection: Connection,
  declared: ReadModelDefinition,
  { secret, indexes = 'at once' }: { readonly secret?: string | undefined; readonly indexes?: IndexesMade | undefined },
): boolean {
  return connection.transaction(() => {
    const { db } = connection;
    const stored = loadVersions(db, 'current').find(({ name }) => name === declared.name);
    const definition = stored === undefined ? declared : asKeptIn(stored, declared);
    // What is left of one that was being removed.
    if (stored === undefined) for (const name of [definition.name, retiredName(definition.name)]) abandonLeft(db, name);
    const model = modelVersionOf(definition, stored?.version ?? 1);
    const upsert = `INSERT INTO read_models (name, state, version, definition) VALUES (?, 'current', ?, ?)
      ON CONFLICT DO UPDATE SET definition = excluded.definition WHERE definition <> excluded.definition`;
    connection.statement(upsert).run(definition.name, model.version, definitionText(definition));
    if (stored === undefined) {
      connection.statement(catchingUpSql).run(definition.name);
      if (indexes === 'once filled') noteUnindexed(connection, definition.name);
    }
    const made = isIndexed(connection, definition.name) ? 'at once' : 'once filled';
    makeSecret(connection, definition, secret);
    return model.tables.map((table) => prepareTable(db, table, made)).includes(true);
  });
}
