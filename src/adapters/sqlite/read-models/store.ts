// views.db for its one writer: read models folded by the projectors, with their versions and positions.
//
// synchronous NORMAL: transactions stay atomic, and a power cut may take the last ones, positions included; they are
// folded again from the log, which is the truth. A killed process loses none.

import type { Clock } from '../../../ports/clock.ts';
import type { DocumentScan } from '../../../ports/document-scan.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Metrics } from '../../../ports/metrics.ts';
import type { RebuildableStore } from '../../../ports/read-model-rebuild.ts';
import type { FoldPace, ReadModelDefinition, ReadModelStore } from '../../../ports/read-model-store.ts';
import { type Connection, openConnection } from '../connection.ts';
import { startGivingBack } from '../giving-back.ts';
import { type ChangeSignalEnd, tellChanges } from './change-signal.ts';
import { createListeners } from './listeners.ts';
import { createReading } from './reading.ts';
import { abandonLeft, abandonNextVersion, beginNextVersion, compareVersions, leftVersion } from './rebuild.ts';
import { nextVersion as nextVersionOf, retiredName, swapVersions } from './rebuild.ts';
import { removeSome } from './removal.ts';
import { createScan } from './scan.ts';
import { makeSecret } from './secrets.ts';
import { prepareTable } from './tables.ts';
import { createView, loadVersions, type ModelVersion, modelVersionOf, stateTablesSql, type View } from './view.ts';
import { createWriting } from './writing.ts';

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
    checkpointPages: 8000,
    holds: 'read_models',
    givesBack: true,
  });
  connection.db.exec(stateTablesSql);
  const { clock, logger, metrics } = options;
  const giveBack = startGivingBack({ db: connection.db, clock, logger, metrics, file: 'views' });
  const tell = options.changes === undefined ? () => undefined : tellChanges(options.changes);
  const view = createView(() => loadVersions(connection.db, 'current'));
  const { store, changed, hold, release } = storeOn(connection, view, tell);
  return {
    ...store,
    async prepare(definition) {
      if (prepareCurrent(connection, definition, options.secrets?.get(definition.name)))
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
      connection.close();
    },
    async beginRebuild(definition) {
      const next = beginNextVersion(connection, definition);
      return nextStore(connection, next);
    },
    compare: async (definition) => compareVersions(connection, definition.name),
    nextVersion: async (definition) => leftVersion(connection.db, definition.name)?.version ?? null,
    resumeRebuild: async (definition) => nextStore(connection, nextVersionOf(connection.db, definition.name)),
    hold: async (definition) => hold(definition.name),
    async swap(definition) {
      swapVersions(connection, definition.name);
      view.refresh();
      release(definition.name);
      changed(definition.name);
    },
    removeRetired: async (definition) => removeSome(connection, retiredName(definition.name)),
    async abandon(definition) {
      abandonNextVersion(connection, definition.name);
    },
  };
}

/** 500 documents of 2 KiB are written in 10 to 40 ms. The store commits all numbers of a beat together; 20 commits beside it take 6 ms in 100. */
const pace: FoldPace = { eventsMax: 500, fewMs: 25, manyMs: 100, unrestedMax: 20, inThread: true };

function storeOn(connection: Connection, view: View, tell: (readModel: string) => void) {
  const listeners = createListeners();
  const changed = (readModel: string) => {
    tell(readModel);
    listeners.changed(readModel);
  };
  const { hold, release, ...writing } = createWriting(connection, view, changed);
  const store = {
    pace,
    ...createReading(() => connection, view),
    ...createScan(() => connection, view),
    ...writing,
    onChange: (readModel: string, listener: () => void) => listeners.add(readModel, listener),
    ready: async () => connection.db.isOpen,
  };
  return { store, changed, hold, release };
}

/** The store of a version that nobody reads yet: whoever waits for the read model hears of it when it is swapped in. */
function nextStore(connection: Connection, next: ModelVersion): ReadModelStore {
  const { store } = storeOn(
    connection,
    createView(() => [next]),
    () => undefined,
  );
  return {
    ...store,
    async prepare(definition) {
      if (definition.name !== next.name) throw new Error(`this store is for the rebuild of ${next.name} alone`);
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
function prepareCurrent(connection: Connection, definition: ReadModelDefinition, secret?: string): boolean {
  return connection.transaction(() => {
    const { db } = connection;
    const stored = loadVersions(db, 'current').find(({ name }) => name === definition.name);
    // What is left of one that was being removed.
    if (stored === undefined) for (const name of [definition.name, retiredName(definition.name)]) abandonLeft(db, name);
    const model = modelVersionOf(definition, stored?.version ?? 1);
    const upsert = `INSERT INTO read_models (name, state, version, definition) VALUES (?, 'current', ?, ?)
      ON CONFLICT DO UPDATE SET definition = excluded.definition WHERE definition <> excluded.definition`;
    connection.statement(upsert).run(definition.name, model.version, JSON.stringify(definition));
    if (stored === undefined) connection.statement(catchingUpSql).run(definition.name);
    makeSecret(connection, definition, secret);
    return model.tables.map((table) => prepareTable(db, table)).includes(true);
  });
}
