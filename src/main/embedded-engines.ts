// The embedded engines: SQLite files in DATA_DIR, which one process holds, and limits in memory.

import { existsSync } from 'node:fs';

import { createMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { openEventLog } from '../adapters/sqlite/event-log/event-log.ts';
import { createChangeSignal } from '../adapters/sqlite/read-models/change-signal.ts';
import { openReadModelReader } from '../adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { openSettingsStore } from '../adapters/sqlite/settings/store.ts';
import { readModels } from '../projections/index.ts';
import type { Config } from './config.ts';
import { dataFiles } from './data-files.ts';
import type { EngineDependencies, Engines, LogAndViews, LogBesideViews } from './engines.ts';
import type { OpenSettings, ServingDependencies } from './engines.ts';
import { measureDisk } from './disk-metrics.ts';
import { eventLogShape } from './event-log-shape.ts';
import { lockOrExplain } from './lock.ts';
import { StartError } from './start-error.ts';

/** @throws StartError while another process holds DATA_DIR */
export function openEmbeddedEngines(deps: ServingDependencies): Engines {
  const { config, codec, clock, logger, metrics, health, turns } = deps;
  const lock = lockOrExplain(config);
  const files = dataFiles(config.DATA_DIR);
  const log = openEventLog({ ...eventLogShape, path: files.log, codec, clock, logger, metrics });
  const settings = openSettingsStore({ path: files.settings });
  const limiter = createMemoryRateLimiter();
  measureDisk(metrics, config.DATA_DIR);
  health.need('settings', () => settings.ready());
  return {
    log,
    settings,
    limiter,
    async openViews(hasThread) {
      const store = openReadModelStore({ path: files.views, logger });
      for (const { definition } of readModels) await store.prepare(definition);
      await store.close();
      if (!hasThread) return { reader: openReadModelReader({ path: files.views, turns }), thread: null };
      const changes = createChangeSignal(readModels.map((readModel) => readModel.definition.name));
      const reader = openReadModelReader({ path: files.views, changes: changes.reader, turns });
      const shared = { log: log.share(), changes: changes.writer, viewsPath: files.views };
      return { reader, thread: { kind: 'embedded', ...shared } };
    },
    async close() {
      await limiter.close();
      await log.close();
      await settings.close();
      lock.release();
    },
  };
}

export function openEmbeddedLogAndViews({ config, codec, clock, logger }: EngineDependencies): LogAndViews {
  const lock = lockOrExplain(config);
  const files = dataFiles(config.DATA_DIR);
  const log = openEventLog({ ...eventLogShape, path: files.log, codec, clock, logger });
  const store = openReadModelStore({ path: files.views, logger });
  return {
    log,
    store,
    async close() {
      await store.close();
      await log.close();
      lock.release();
    },
  };
}

export async function openEmbeddedLogBesideViews(deps: EngineDependencies): Promise<LogBesideViews> {
  const { log, store, close } = openEmbeddedLogAndViews(deps);
  for (const { definition } of readModels) await store.prepare(definition);
  return { log, reader: store, close };
}

/** Beside the process that holds DATA_DIR: its writes wait for these, each a few ms, and these for its. */
export function openEmbeddedSettings({ DATA_DIR: dataDir }: Config): OpenSettings {
  const path = dataFiles(dataDir).settings;
  if (!existsSync(path)) throw new StartError(`DATA_DIR: ${dataDir} holds no settings (settings.db).`);
  const settings = openSettingsStore({ path });
  return { settings, close: () => settings.close() };
}
