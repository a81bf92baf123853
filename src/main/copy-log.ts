// herald copy-log --to kafka: an embedded log with its groups' positions, the settings and the keys of the last 24 h, into the engines that many processes
// share. Jobs aren't copied: none is under way.
//
//   DATA_DIR (locked) ──> settings, keys ──> MongoDB        read models aren't copied: they fold themselves anew from the log
//                     └─> log.db ──────────> Kafka

import { existsSync } from 'node:fs';

import { openKafkaCopyTarget } from '../adapters/kafka/copy-target.ts';
import { connectMongo, type MongoConnection } from '../adapters/mongodb/connection.ts';
import { hasFoldedReadModels } from '../adapters/mongodb/read-models/folded.ts';
import { openMongoIdempotencyStore } from '../adapters/mongodb/idempotency/store.ts';
import { openMongoSettingsStore } from '../adapters/mongodb/settings/store.ts';
import { openCopySource, type SqliteCopySource } from '../adapters/sqlite/event-log/copy-source.ts';
import { openKeysBeside } from '../adapters/sqlite/idempotency/store.ts';
import { openSettingsStore } from '../adapters/sqlite/settings/store.ts';
import type { Topic } from '../domain/topics.ts';
import { CopyRefusedError } from '../ports/event-log-copy.ts';
import type { Clock } from '../ports/clock.ts';
import type { IdempotencyStore } from '../ports/idempotency-store.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { copyKeys } from '../replay/copy-keys.ts';
import { copyLog } from '../replay/copy-log.ts';
import { allTenants, copySettings, type CopiedSettings } from '../replay/copy-settings.ts';
import { openEmbeddedJobsBeside } from './beside.ts';
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

/** Interrupted, it is run again and goes on. @throws StartError when there is nothing to copy from, a job isn't over, or there is no log to copy into */
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
    await refuseOpenJobs(config, settings);
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

/** Jobs by name. */
const toldMax = 20;

interface Embedded {
  readonly source: SqliteCopySource;
  readonly settings: SettingsStore;
}

async function copyInto(config: ClusterConfig, { source, settings }: Embedded): Promise<void> {
  const running = createProcess(config);
  const targets = await openTargets(config, running);
  const progress = createProgress('copy-log');
  let copied: CopiedSettings = { tenants: 0, providers: 0, templates: 0 };
  let keys = 0;
  try {
    const result = await copyLog({
      source,
      target: targets.log,
      async copySettings() {
        await refuseUsedReadModels(targets.connection);
        copied = await copySettings({ source: settings, target: targets.settings });
        keys = await copyKeysOf(config, source, { target: targets.keys, clock: running.clock });
      },
      onProgress: progress.update,
    });
    if (result === null) progress.end(alreadyCopied);
    else {
      progress.end(`${result.foundEvents} events found from before, all there now`);
      process.stdout.write(copiedSummary(result, { ...copied, keys }));
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
  const keys = await openMongoIdempotencyStore({ connection });
  const kafka = { settings: kafkaSettingsOf(config), registryUrl: config.SCHEMA_REGISTRY_URL };
  const log = openKafkaCopyTarget({ ...kafka, clock, logger, signal });
  return {
    connection,
    log,
    settings,
    keys,
    async close() {
      await log.close();
      await settings.close();
      await connection.close();
    },
  };
}

/** What they name stays known, though records are folded anew first. */
async function copyKeysOf(
  { DATA_DIR: dataDir }: Config,
  source: SqliteCopySource,
  { target, clock }: { readonly target: IdempotencyStore; readonly clock: Clock },
): Promise<number> {
  const { id } = source;
  const path = dataFiles(dataDir).idempotency;
  if (id === null || !isThere(path)) return 0;
  const ends = new Map<Topic, readonly number[]>();
  for (const topic of source.topics) ends.set(topic, await source.ends(topic));
  return openOrExplain(path, 'idempotency', async () => {
    const keys = openKeysBeside({ path }, { id, ends });
    try {
      return await copyKeys({ source: keys.pages(clock.now()), target });
    } finally {
      keys.close();
    }
  });
}

/** Of a job that isn't over nobody would know any more: an erasure that was answered 202 would end half done. */
async function refuseOpenJobs(config: ClusterConfig, settings: SettingsStore): Promise<void> {
  const { jobs, close } = await openEmbeddedJobsBeside(config);
  try {
    const open: string[] = [];
    for await (const tenantId of allTenants(settings))
      for (const { id, kind } of await jobs.listOpen(tenantId)) open.push(`${id} (${kind}, ${tenantId})`);
    if (open.length === 0) return;
    const told = [...open.slice(0, toldMax), ...(open.length > toldMax ? [`${open.length - toldMax} more`] : [])];
    throw new StartError(
      `These jobs aren't over, and aren't copied: ${told.join(', ')}. Start the embedded service until GET /jobs/:id says that they are (DELETE /jobs/:id stops one), then copy.`,
    );
  } finally {
    await close();
  }
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
