// Read models in MongoDB for those who fold: any number of processes, each partition number with one owner at a time.

import type { Clock } from '../../../ports/clock.ts';
import type { DocumentScan } from '../../../ports/document-scan.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { BesideComparison, NextVersionStore, RebuildableStore } from '../../../ports/read-model-rebuild.ts';
import type { FoldPace, ReadModelStore } from '../../../ports/read-model-store.ts';
import type { MongoConnection } from '../connection.ts';
import { createChanges } from './changes.ts';
import { forgetReadModel } from './forgotten.ts';
import { createListeners } from './listeners.ts';
import { answers, createLifetime, whileOpen } from './open.ts';
import { prepareCurrent } from './preparing.ts';
import { createReading } from './reading.ts';
import { abandonNextVersion, beginNextVersion, begunVersion, compareVersions, letGo } from './rebuild.ts';
import { holdVersions } from './holding.ts';
import { resumeNextVersion, swapVersions } from './rebuild.ts';
import { createRetiredVersions } from './retired.ts';
import { createScan } from './scan.ts';
import { createView, fixedView, type ModelVersion, versionsOf } from './versions.ts';
import { createWriting } from './writing.ts';

export interface MongoReadModelOptions {
  /** Stays open when the store is closed. */
  readonly connection: MongoConnection;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A small transaction takes 2 to 3 ms of a core of client and server together: so a number has 5 of them a second at most, and not all at once, beside 20 a second of all numbers. */
const pace: FoldPace = { eventsMax: 1000, fewMs: 200, manyMs: 300, unrestedMax: 6, inThread: false };

export function openMongoReadModelStore(
  options: MongoReadModelOptions,
): ReadModelStore & RebuildableStore & DocumentScan {
  const { connection, logger, clock } = options;
  const { client, db } = connection;
  const { signal, end } = createLifetime(client);
  const listeners = createListeners();
  const view = createView(db, clock, listeners.changed);
  const writing = createWriting({ client, db, view, clock, logger, owns: 'current' });
  const retired = createRetiredVersions(db, logger, signal);
  const open = whileOpen(signal);

  return {
    pace,
    ...open({ ...createReading(db, view, clock), ...createScan(db, view), ...portOf(writing) }),
    ...createChanges({ db, view, listeners, clock, logger, signal }),
    ready: () => answers(db, signal),
    ...open({
      async prepare(definition, indexes) {
        if (await prepareCurrent(db, clock, definition, indexes))
          logger.info('read model prepared', { readModel: definition.name });
        await view.refresh();
        await retired.collect();
      },
      async removeSome(readModel) {
        await forgetReadModel(db, readModel);
        await view.refresh();
        // Its collections are dropped, which takes the server some ms, once no reader can be in them.
        await retired.collect();
        return 'done';
      },
      async beginRebuild(definition, indexes) {
        return openNextVersion(options, await beginNextVersion(db, definition, indexes), 'next');
      },
      compare: (definition) => compareVersions(db, definition.name),
      nextVersion: async (definition) => (await begunVersion(db, definition.name))?.version ?? null,
      async resumeRebuild(definition) {
        return openNextVersion(options, await resumeNextVersion(db, definition.name), 'next');
      },
      async hold(definition, version) {
        const held = await holdVersions(db, definition.name, version);
        if (held === null) return null;
        await view.refresh();
        return {
          next: openNextVersion(options, held.next, 'held'),
          release: () => held.release(),
          async swap() {
            if (!(await held.swap())) return 'over';
            await view.refresh();
            await retired.collect();
            return 'swapped';
          },
        };
      },
      letGo: ({ name }, version) => letGo(db, name, version),
      async removeRetired() {
        await retired.collect();
        return 'done';
      },
      async swap(definition) {
        if (!(await swapVersions(db, definition.name)))
          throw new Error(`no rebuild of ${definition.name} was begun that is still the next version`);
        await view.refresh();
        await retired.collect();
      },
      async noteComparison(_id, comparison) {
        await versionsOf(db).updateOne({ _id }, { $set: { compared: JSON.stringify(comparison) } });
      },
      async lastComparison(_id) {
        const compared = (await versionsOf(db).findOne({ _id }))?.compared;
        return compared === undefined ? null : (JSON.parse(compared) as BesideComparison);
      },
      abandon: (definition) => abandonNextVersion(db, definition.name),
    } satisfies Pick<ReadModelStore, 'prepare' | 'removeSome'> & RebuildableStore),
    async close() {
      end();
      await writing.endAll();
    },
  };
}

function portOf({ own, transact, noteCaughtUp }: ReturnType<typeof createWriting>) {
  return { own, transact, noteCaughtUp };
}

/** The store of a version that nobody reads yet: whoever waits for the read model hears of it when it is swapped in. */
function openNextVersion(
  { connection: { client, db }, clock, logger }: MongoReadModelOptions,
  next: ModelVersion,
  owns: 'next' | 'held',
): NextVersionStore {
  const { signal, end } = createLifetime(client);
  const view = fixedView(next);
  const writing = createWriting({ client, db, view, clock, logger, owns });
  const open = whileOpen(signal);
  return {
    pace,
    ...open({ ...createReading(db, view, clock), ...createScan(db, view), ...portOf(writing) }),
    onChange: () => () => undefined,
    ready: () => answers(db, signal),
    async prepare({ name }) {
      await view.model(name);
    },
    async removeSome(readModel) {
      throw new Error(`this store is for the rebuild of ${next.name} alone: it doesn't remove ${readModel}`);
    },
    async close() {
      end();
      await writing.endAll();
    },
  };
}
