// herald copy-log --to kafka: an embedded log with its groups' positions, and the settings, into the engines that many processes share.
//
//   DATA_DIR (locked) ──> settings ──> MongoDB        read models aren't copied: they fold themselves anew from the log
//                     └─> log.db ────> Kafka

import { existsSync } from 'node:fs';

import { openKafkaCopyTarget } from '../adapters/kafka/copy-target.ts';
import { connectMongo, type MongoConnection } from '../adapters/mongodb/connection.ts';
import { hasFoldedReadModels } from '../adapters/mongodb/read-models/folded.ts';
import { openMongoSettingsStore } from '../adapters/mongodb/settings/store.ts';
import { openCopySource, type SqliteCopySource } from '../adapters/sqlite/event-log/copy-source.ts';
import { openSettingsStore } from '../adapters/sqlite/settings/store.ts';
import { CopyRefusedError } from '../ports/event-log-copy.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { copyLog } from '../replay/copy-log.ts';
import { copySettings, type CopiedSettings } from '../replay/copy-settings.ts';
import { kafkaSettingsOf } from './cluster-engines.ts';
import type { ClusterConfig, Config } from './config.ts';
import { isCluster } from './config.ts';
import { alreadyCopied, copiedSummary, whatToStartWith } from './copy-log-summary.ts';
import { isThere, openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';
import { lockOrExplain } from './lock.ts';
import { createProcess, type Process } from './process.ts';
import { createProgress } from './progress.ts';
import { secretBoxOf } from './secrets.ts';
import { StartError } from './start-error.ts';
import { opensFirstTenant } from './tie.ts';

/** Interrupted, it is run again and goes on. @throws StartError when there is nothing to copy from or no log to copy into */
export async function copyLogToKafka(config: Config): Promise<void> {
  if (!isCluster(config))
    throw new StartError('KAFKA_BROKERS, SCHEMA_REGISTRY_URL, MONGODB_URL, REDIS_URL: say which engines to copy into.');
  const files = dataFiles(config.DATA_DIR);
  if (!isThere(files.log)) throw new StartError(`DATA_DIR: ${config.DATA_DIR} holds no log to copy (log.db).`);
  if (!isThere(files.settings))
    throw new StartError(`${files.settings} is not there: without it nobody could use what is copied.`);
  const lock = await lockOrExplain(config);
  const settings = await openOrExplain(files.settings, 'settings', () => openSettingsStore({ path: files.settings }));
  try {
    await checkSecret(config, settings);
    const source = await openOrExplain(files.log, 'log', () => openCopySource(files.log));
    try {
      await copyInto(config, { source, settings });
    } finally {
      source.close();
    }
  } catch (error) {
    throw error instanceof CopyRefusedError ? new StartError(error.message) : error;
  } finally {
    await settings.close();
    lock.release();
  }
}

interface Embedded {
  readonly source: SqliteCopySource;
  readonly settings: SettingsStore;
}

async function copyInto(config: ClusterConfig, { source, settings }: Embedded): Promise<void> {
  const running = createProcess(config);
  const targets = await openTargets(config, running);
  const progress = createProgress('copy-log');
  let copied: CopiedSettings = { tenants: 0, providers: 0, templates: 0 };
  try {
    const result = await copyLog({
      source,
      target: targets.log,
      async copySettings() {
        await refuseUsedReadModels(targets.connection);
        copied = await copySettings({ source: settings, target: targets.settings });
      },
      onProgress: progress.update,
    });
    if (result === null) progress.end(alreadyCopied);
    else {
      progress.end(`${result.foundEvents} events found from before, all there now`);
      process.stdout.write(copiedSummary(result, copied));
    }
    process.stdout.write(whatToStartWith(config));
  } finally {
    await targets.close();
    running.logger.flush();
  }
}

async function openTargets(config: ClusterConfig, { clock, logger }: Process) {
  const { signal } = new AbortController();
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const settings = await openMongoSettingsStore({ connection, logger, clock });
  const kafka = { settings: kafkaSettingsOf(config), registryUrl: config.SCHEMA_REGISTRY_URL };
  const log = openKafkaCopyTarget({ ...kafka, clock, logger, signal });
  return {
    connection,
    log,
    settings,
    async close() {
      await log.close();
      await settings.close();
      await connection.close();
    },
  };
}

/** Read models that follow another log would pass over the events of this one. */
async function refuseUsedReadModels(connection: MongoConnection): Promise<void> {
  if (await hasFoldedReadModels(connection))
    throw new CopyRefusedError(
      "MONGODB_URL: the database holds read models of another log: give the copy a database of its own, by the URL's path.",
    );
}

/** Before anything is copied: with another secret nobody could open what the settings have sealed. */
async function checkSecret(config: Config, settings: SettingsStore): Promise<void> {
  const file = dataFiles(config.DATA_DIR).encryptionSecret;
  if (config.ENCRYPTION_SECRET === null && !existsSync(file))
    throw new StartError(
      `ENCRYPTION_SECRET: is not set, and ${file} is not there: give the one that sealed the settings.`,
    );
  if (!(await opensFirstTenant(settings, await secretBoxOf(config))))
    throw new StartError('ENCRYPTION_SECRET: is not the one that sealed the settings in DATA_DIR.');
}
