// The embedded engines: SQLite files in DATA_DIR, which one process holds, and limits in memory.

import { createMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { DataDirLockedError, lockDataDir } from '../adapters/node/data-dir.ts';
import { openLogBeside } from '../adapters/sqlite/event-log/beside.ts';
import { openEventLog, type SqliteEventLog } from '../adapters/sqlite/event-log/event-log.ts';
import { type ChangeSignalEnd, createChangeSignal } from '../adapters/sqlite/read-models/change-signal.ts';
import { followLog } from '../adapters/sqlite/read-models/followed-log.ts';
import { openIdempotencyStore } from '../adapters/sqlite/idempotency/store.ts';
import { openJobStore } from '../adapters/sqlite/jobs/store.ts';
import { openReadModelReader } from '../adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { createScrub } from '../adapters/sqlite/scrub.ts';
import { openSettingsStore } from '../adapters/sqlite/settings/store.ts';
import { formerReadModels, readModels } from '../projections/index.ts';
import { prepareReadModels } from '../projections/preparing.ts';
import type { Config } from './config.ts';
import { createDamageWatch } from './damage-watch.ts';
import { isThere, logThereIn, openOrExplain, refuseMissing } from './data-file.ts';
import { dataFiles } from './data-files.ts';
import type { EngineDependencies, Engines, LogAndViews, LogBeside, LogBesideViews } from './engines.ts';
import { measureDisk } from './disk-metrics.ts';
import type { OpenSettings, RebuildBeside, ServingDependencies, TiedStores } from './engines.ts';
import { eventLogShape } from './event-log-shape.ts';
import { lockOrExplain } from './lock.ts';
import { StartError } from './start-error.ts';

/** @throws StartError while another process holds DATA_DIR, and when its files are damaged or don't belong together */
export async function openEmbeddedEngines(deps: ServingDependencies): Promise<Engines> {
  const { config, clock, health, logger, metrics, turns } = deps;
  const { log, settings: stored, files, add, close } = await openLogAndSettings(deps, refuseMissing);
  const settingsDamage = createDamageWatch({ ...deps, path: files.settings, file: 'settings' });
  const viewsDamage = createDamageWatch({ ...deps, path: files.views, file: 'views' });
  const settings = settingsDamage.guarded(stored);
  const limiter = createMemoryRateLimiter();
  measureDisk(metrics, config.DATA_DIR);
  health.need('settings', async () => settingsDamage.why() ?? settings.ready());
  return {
    log,
    settings,
    tie: { identity: log.history, log: files.log, settings: files.settings },
    limiter,
    async openIdempotency() {
      const path = files.idempotency;
      const store = await openOrExplain(path, 'idempotency', () =>
        openIdempotencyStore({ path, history: log.history }),
      );
      add(store);
      return createDamageWatch({ ...deps, path, file: 'idempotency' }).guarded(store);
    },
    async openJobs() {
      const path = files.jobs;
      const store = await openOrExplain(path, 'jobs', () => openJobStore({ path, logId: log.history.id }));
      add(store);
      return createDamageWatch({ ...deps, path, file: 'jobs' }).guarded(store);
    },
    async openViews(hasThread) {
      await openOrExplain(files.views, 'views', async () => {
        followLog({ path: files.views, history: log.history, logger });
        const store = openReadModelStore({ path: files.views, clock, logger });
        try {
          await prepareReadModels({ log, store });
        } finally {
          await store.close();
        }
      });
      const damage = viewsDamage.why;
      const openReader = (changes: { readonly changes?: ChangeSignalEnd } = {}) =>
        viewsDamage.guarded(openReadModelReader({ path: files.views, turns, ...changes }));
      if (!hasThread) return { reader: openReader(), damage, thread: null };
      const changes = createChangeSignal(
        [...readModels, ...formerReadModels].map((readModel) => readModel.definition.name),
      );
      const reader = openReader({ changes: changes.reader });
      const shared = { log: log.share(), changes: changes.writer, viewsPath: files.views };
      return { reader, damage, thread: { kind: 'embedded', ...shared } };
    },
    losing: () => null,
    erasedBytes: {
      overwrite: log.overwrite,
      remove: log.remove,
      scrub: createScrub([files.log, files.views, files.settings, files.idempotency, files.jobs]),
    },
    forDispatchers: () => ({ kind: 'embedded', log: log.share() }),
    async close() {
      await limiter.close();
      await close();
    },
  };
}

/** Whatever they say of one another; what isn't there is made. */
export async function openEmbeddedTied(deps: EngineDependencies): Promise<TiedStores> {
  const { log, settings, files, close } = await openLogAndSettings(deps, () => undefined);
  return { tie: { identity: log.history, log: files.log, settings: files.settings }, settings, close };
}

/** What a rebuild and other work on the whole log needs, made where there is nothing yet; the read models follow this log then. @throws StartError where a log was */
export async function openEmbeddedLogAndViews(deps: EngineDependencies): Promise<LogAndViews> {
  const { config, clock, logger } = deps;
  const opened = await openLocked(config);
  const { files, close } = opened;
  try {
    if (!isThere(files.log) && isThere(files.views)) refuseMissing(files.log, files.views);
    const log = await openLog(deps, files.log);
    opened.add(log);
    const store = await openOrExplain(files.views, 'views', () => {
      followLog({ path: files.views, history: log.history, logger });
      return openReadModelStore({ path: files.views, clock, logger });
    });
    opened.add(store);
    return { log, store, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws StartError where there is no log */
export async function openEmbeddedLogBesideViews(deps: EngineDependencies): Promise<LogBesideViews> {
  logThereIn(deps.config);
  const { log, store, close } = await openEmbeddedLogAndViews(deps);
  await prepareReadModels({ log, store });
  return { log, reader: store, close };
}

/** Beside the process that holds DATA_DIR, which notices nothing of it. */
export async function openEmbeddedLogBeside({
  config,
  codec,
}: Pick<EngineDependencies, 'config' | 'codec'>): Promise<LogBeside> {
  const path = logThereIn(config);
  return openOrExplain(path, 'log', () => openLogBeside({ path, codec }));
}

/** The process that holds DATA_DIR folds its read models, if it is a service. @throws StartError where there is no log */
export async function isDataDirHeld(config: Config): Promise<boolean> {
  logThereIn(config);
  try {
    lockDataDir(config.DATA_DIR).release();
    return false;
  } catch (error) {
    if (error instanceof DataDirLockedError) return true;
    throw error;
  }
}

/** Beside the process that holds DATA_DIR: its folds wait for what is written here, some ms at the beginning of a rebuild. */
export async function openEmbeddedRebuildBeside(deps: EngineDependencies): Promise<RebuildBeside> {
  const { config, clock, logger } = deps;
  logThereIn(config);
  const { views: path } = dataFiles(config.DATA_DIR);
  if (!isThere(path)) throw new StartError(`DATA_DIR: ${config.DATA_DIR} holds no read models (views.db).`);
  const log = await openEmbeddedLogBeside(deps);
  const store = await openOrExplain(path, 'views', () => openReadModelStore({ path, clock, logger }));
  return {
    log,
    store,
    async close() {
      await store.close();
      await log.close();
    },
  };
}

/** Beside the process that holds DATA_DIR: its writes wait for these, each a few ms, and these for its. */
export async function openEmbeddedSettings({ DATA_DIR: dataDir }: Config): Promise<OpenSettings> {
  const path = dataFiles(dataDir).settings;
  if (!isThere(path)) throw new StartError(`DATA_DIR: ${dataDir} holds no settings (settings.db).`);
  const settings = await openOrExplain(path, 'settings', () => openSettingsStore({ path }));
  return { settings, close: () => settings.close() };
}

/** @param refuse called for a file that isn't there though another says that it should be */
async function openLogAndSettings(deps: EngineDependencies, refuse: (missing: string, because: string) => void) {
  const opened = await openLocked(deps.config);
  const { files, close } = opened;
  try {
    if (!isThere(files.log))
      for (const other of [files.settings, files.views]) if (isThere(other)) refuse(files.log, other);
    const log = await openLog(deps, files.log);
    opened.add(log);
    if (log.history.hasSettings && !isThere(files.settings)) refuse(files.settings, files.log);
    const settings = await openOrExplain(files.settings, 'settings', () => openSettingsStore({ path: files.settings }));
    opened.add(settings);
    return { log, settings, files, add: opened.add, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** DATA_DIR, and what is opened in it to be closed in the reverse order. */
async function openLocked(config: Config) {
  const lock = await lockOrExplain(config);
  const opened: { close(): Promise<void> }[] = [{ close: async () => lock.release() }];
  return {
    files: dataFiles(config.DATA_DIR),
    add: (one: { close(): Promise<void> }) => void opened.push(one),
    async close() {
      for (const one of opened.toReversed()) await one.close();
    },
  };
}

function openLog({ codec, clock, logger, metrics }: EngineDependencies, path: string): Promise<SqliteEventLog> {
  return openOrExplain(path, 'log', () => openEventLog({ ...eventLogShape, path, codec, clock, logger, metrics }));
}
