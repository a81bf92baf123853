// What stands beside the log of a service that may be running, to be looked at: settings, jobs and read models, of either set of engines. Nothing is locked,
// made or written.

import type { DocumentScan } from '../ports/document-scan.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { ClusterConfig, Config } from './config.ts';
import { isCluster } from './config.ts';
import { isThere, openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';
import type { Process } from './process.ts';
import { StartError } from './start-error.ts';

export interface SettingsBeside {
  /** What writes is no use of it: see lookback/settings.ts. */
  readonly settings: SettingsStore;
  readonly jobs: Pick<JobStore, 'find'>;
  /** Where a person finds the log and the settings. */
  readonly places: { readonly log: string; readonly settings: string };
  close(): Promise<void>;
}

export interface JobsBeside {
  readonly jobs: Pick<JobStore, 'find' | 'listOpen'>;
  close(): Promise<void>;
}

export interface ViewsBeside {
  readonly reader: ReadModelReader & DocumentScan;
  close(): Promise<void>;
}

/** @throws StartError when there are none */
export function openSettingsBeside(config: Config, parts: Process): Promise<SettingsBeside> {
  return isCluster(config) ? clusterSettings(config, parts) : embeddedSettings(config);
}

/** None where there are none. */
export function openJobsBeside(config: Config, parts: { readonly logger: Logger }): Promise<JobsBeside> {
  return isCluster(config) ? clusterJobs(config, parts) : openEmbeddedJobsBeside(config);
}

/**
 * The read models in use. Embedded: as they are at the first look, however long the work on them takes; the service's WAL file grows until it is done. In a
 * cluster page by page, while they go on.
 * @throws StartError when there are none
 */
export function openViewsBeside(config: Config, parts: Process): Promise<ViewsBeside> {
  return isCluster(config) ? clusterViews(config, parts) : embeddedViews(config);
}

async function embeddedSettings({ DATA_DIR: dataDir }: Config): Promise<SettingsBeside> {
  const files = dataFiles(dataDir);
  const { openSettingsBeside: open } = await import('../adapters/sqlite/settings/store.ts');
  if (!isThere(files.settings)) throw new StartError(`DATA_DIR: ${dataDir} holds no settings (settings.db).`);
  const settings = await openOrExplain(files.settings, 'settings', () => open({ path: files.settings }));
  const { jobs, close } = await openEmbeddedJobsBeside({ DATA_DIR: dataDir });
  return {
    settings,
    jobs,
    places: files,
    async close() {
      await close();
      await settings.close();
    },
  };
}

/** Of DATA_DIR, whichever engines are named. None where there are none. */
export async function openEmbeddedJobsBeside({ DATA_DIR: dataDir }: Pick<Config, 'DATA_DIR'>): Promise<JobsBeside> {
  const path = dataFiles(dataDir).jobs;
  if (!isThere(path)) return { jobs: { find: async () => null, listOpen: async () => [] }, close: async () => {} };
  const { openJobsBeside: open } = await import('../adapters/sqlite/jobs/store.ts');
  const jobs = await openOrExplain(path, 'jobs', () => open({ path }));
  return { jobs, close: jobs.close };
}

async function clusterJobs(config: ClusterConfig, { logger }: { readonly logger: Logger }): Promise<JobsBeside> {
  const { connectMongo } = await import('../adapters/mongodb/connection.ts');
  const { openMongoJobsBeside } = await import('../adapters/mongodb/jobs/store.ts');
  const connection = await connectMongo({ url: config.MONGODB_URL, logger });
  return { jobs: openMongoJobsBeside({ connection }), close: () => connection.close() };
}

async function clusterSettings(config: ClusterConfig, { clock, logger }: Process): Promise<SettingsBeside> {
  const { connectMongo } = await import('../adapters/mongodb/connection.ts');
  const { openMongoSettingsBeside } = await import('../adapters/mongodb/settings/store.ts');
  const { openMongoJobsBeside } = await import('../adapters/mongodb/jobs/store.ts');
  const connection = await connectMongo({ url: config.MONGODB_URL, logger });
  const settings = openMongoSettingsBeside({ connection, logger, clock });
  return {
    settings,
    jobs: openMongoJobsBeside({ connection }),
    places: { log: 'the log of KAFKA_BROKERS', settings: 'the database of MONGODB_URL' },
    async close() {
      await settings.close();
      await connection.close();
    },
  };
}

async function embeddedViews({ DATA_DIR: dataDir }: Config): Promise<ViewsBeside> {
  const path = dataFiles(dataDir).views;
  const { openReadModelReader } = await import('../adapters/sqlite/read-models/reader.ts');
  if (!isThere(path)) throw new StartError(`DATA_DIR: ${dataDir} holds no read models (views.db).`);
  const reader = await openOrExplain(path, 'views', () => openReadModelReader({ path, staysAsItIs: true }));
  return { reader, close: async () => reader.close() };
}

async function clusterViews(config: ClusterConfig, { clock, logger }: Process): Promise<ViewsBeside> {
  const { connectMongo } = await import('../adapters/mongodb/connection.ts');
  const { openMongoReadModelReader } = await import('../adapters/mongodb/read-models/reader.ts');
  const connection = await connectMongo({ url: config.MONGODB_URL, logger });
  const reader = openMongoReadModelReader({ connection, logger, clock });
  return {
    reader,
    async close() {
      reader.close();
      await connection.close();
    },
  };
}
