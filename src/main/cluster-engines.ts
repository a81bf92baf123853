// The engines that many processes share: Kafka with a schema registry, MongoDB, Redis.

import { readFileSync } from 'node:fs';

import { openKafkaLogBeside } from '../adapters/kafka/beside.ts';
import { type KafkaEventLog, type KafkaEventLogOptions, openKafkaEventLog } from '../adapters/kafka/event-log.ts';
import type { KafkaSettings } from '../adapters/kafka/client.ts';
import { connectMongo } from '../adapters/mongodb/connection.ts';
import { forgetKeys, openMongoIdempotencyStore } from '../adapters/mongodb/idempotency/store.ts';
import { openMongoJobStore } from '../adapters/mongodb/jobs/store.ts';
import { forgetReadModels } from '../adapters/mongodb/read-models/forgotten.ts';
import { openMongoReadModelReader } from '../adapters/mongodb/read-models/reader.ts';
import { openMongoReadModelStore } from '../adapters/mongodb/read-models/store.ts';
import { openMongoSettingsStore } from '../adapters/mongodb/settings/store.ts';
import { createRedisRateLimiter } from '../adapters/redis/rate-limiter.ts';
import { formerReadModels, projectedReadModels, readModels } from '../projections/index.ts';
import { prepareReadModels } from '../projections/preparing.ts';
import { projectorGroup } from '../projections/projector.ts';
import type { ClusterConfig } from './config.ts';
import type { EngineDependencies, Engines, LogAndViews, LogBeside, LogBesideViews } from './engines.ts';
import type { OpenSettings, RebuildBeside, ServingDependencies, Tie, TiedStores } from './engines.ts';
import { eventLogShape } from './event-log-shape.ts';
import { patiently } from './patient-log.ts';
import { StartError } from './start-error.ts';

export type ClusterDependencies = EngineDependencies & { readonly config: ClusterConfig };

export async function openClusterEngines(deps: ClusterDependencies & ServingDependencies): Promise<Engines> {
  const { config, clock, logger, metrics, health, signal } = deps;
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const settings = await openMongoSettingsStore({ connection, logger, clock });
  health.need('settings', () => settings.ready());
  const log = await openClusterLog(deps, { topicRetention: 'followed' });
  const limiter = createRedisRateLimiter({ ...limitsOf(config), logger, metrics });
  health.like('limits', async () => limiter.isUp());
  return {
    log,
    settings,
    tie: tieOf(config, log),
    limiter,
    openIdempotency: () => openMongoIdempotencyStore({ connection }),
    openJobs: () => openMongoJobStore({ connection }),
    async openViews(hasThread) {
      const store = openMongoReadModelStore({ connection, logger, clock });
      await prepareReadModels({ log, store });
      await store.close();
      const reader = openMongoReadModelReader({ connection, logger, clock });
      return { reader, damage: () => null, thread: hasThread ? { kind: 'cluster', config } : null };
    },
    erasedBytes: null,
    losing: log.losing,
    forDispatchers: () => ({ kind: 'cluster', config }),
    async close() {
      await limiter.close();
      await log.close();
      await settings.close();
      await connection.close();
    },
  };
}

/** The read models are taken out of use, and keys forgotten: they may be of another log. */
export async function openClusterTied(deps: ClusterDependencies): Promise<TiedStores> {
  const { config, clock, logger, signal } = deps;
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const log = await openClusterLog(deps, { topicIds: 'adopted' });
  const close = async () => {
    await log.close();
    await connection.close();
  };
  try {
    await refuseWhileProjected(deps, log);
    await log.adoptTopics();
    await forgetReadModels(connection);
    await forgetKeys(connection);
    const settings = await openMongoSettingsStore({ connection, logger, clock });
    return { tie: tieOf(config, log), settings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function tieOf({ KAFKA_PREFIX: prefix }: ClusterConfig, { identity }: KafkaEventLog): Tie {
  const log = `the log of KAFKA_BROKERS${prefix === null ? '' : ` and KAFKA_PREFIX ${prefix}`}`;
  return { identity, log, settings: 'the database of MONGODB_URL' };
}

export function openClusterLogBeside({
  config,
  codec,
  clock,
  logger,
}: Pick<ClusterDependencies, 'config' | 'codec' | 'clock' | 'logger'>): Promise<LogBeside> {
  const settings = kafkaSettingsOf(config);
  const { topics } = eventLogShape;
  return openKafkaLogBeside({ settings, registryUrl: config.SCHEMA_REGISTRY_URL, topics, codec, clock, logger });
}

export async function openClusterSettings(
  deps: Pick<ClusterDependencies, 'config' | 'clock' | 'logger' | 'signal'>,
): Promise<OpenSettings> {
  const { config, clock, logger, signal } = deps;
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const settings = await openMongoSettingsStore({ connection, logger, clock });
  return {
    settings,
    async close() {
      await settings.close();
      await connection.close();
    },
  };
}

export async function openClusterLogAndViews(deps: ClusterDependencies): Promise<LogAndViews> {
  const views = await openClusterThreadEngines(deps);
  try {
    await refuseWhileProjected(deps, views.log);
    return views;
  } catch (error) {
    await views.close();
    throw error;
  }
}

/** By processes with the role projector. */
export async function areFoldedInCluster(deps: ClusterDependencies): Promise<boolean> {
  const log = await openClusterLog(deps);
  try {
    for (const { definition } of projectedReadModels)
      if ((await patiently(deps, () => log.activeMembers(projectorGroup(definition.name)))) > 0) return true;
    return false;
  } finally {
    await log.close();
  }
}

export async function openClusterRebuildBeside(deps: ClusterDependencies): Promise<RebuildBeside> {
  const { config, clock, logger, signal } = deps;
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const log = await openClusterLogBeside(deps);
  const store = openMongoReadModelStore({ connection, logger, clock });
  return {
    log,
    store,
    async close() {
      await store.close();
      await log.close();
      await connection.close();
    },
  };
}

/** @throws StartError */
async function refuseWhileProjected(deps: ClusterDependencies, log: KafkaEventLog): Promise<void> {
  for (const { definition } of [...readModels, ...formerReadModels]) {
    const members = await patiently(deps, () => log.activeMembers(projectorGroup(definition.name)));
    if (members === 0) continue;
    throw new StartError(
      `${definition.name}: ${members} processes project it: stop the roles projector and scheduler first`,
    );
  }
}

export async function openClusterLogBesideViews(deps: ClusterDependencies): Promise<LogBesideViews> {
  const { log, store, close } = await openClusterThreadEngines(deps);
  await prepareReadModels({ log, store });
  return { log, reader: store, close };
}

/** Log and read models with connections of their own. */
export async function openClusterThreadEngines(deps: ClusterDependencies) {
  const { config, clock, logger, signal } = deps;
  const connection = await connectMongo({ url: config.MONGODB_URL, logger, signal });
  const log = await openClusterLog(deps);
  const store = openMongoReadModelStore({ connection, logger, clock });
  return {
    log,
    store,
    async close() {
      await store.close();
      await log.close();
      await connection.close();
    },
  };
}

/** Log and limits with connections of their own; whether Redis is up the main thread measures. */
export async function openClusterDispatcherEngines(deps: ClusterDependencies) {
  const log = await openClusterLog(deps);
  const limiter = createRedisRateLimiter({ ...limitsOf(deps.config), logger: deps.logger });
  return {
    log,
    limiter,
    async close() {
      await limiter.close();
      await log.close();
    },
  };
}

function limitsOf({ REDIS_URL: url, KAFKA_PREFIX: prefix }: ClusterConfig) {
  return { url, keyPrefix: `${prefix ?? ''}herald:` };
}

function openClusterLog(
  { config, codec, clock, logger, metrics, signal }: ClusterDependencies,
  more: Pick<KafkaEventLogOptions, 'topicIds' | 'topicRetention'> = {},
) {
  return openKafkaEventLog({
    settings: kafkaSettingsOf(config),
    registryUrl: config.SCHEMA_REGISTRY_URL,
    shape: eventLogShape,
    codec,
    clock,
    logger,
    metrics,
    signal,
    ...more,
  });
}

export function kafkaSettingsOf(config: ClusterConfig): KafkaSettings {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = config;
  return {
    brokers: config.KAFKA_BROKERS,
    prefix: config.KAFKA_PREFIX ?? '',
    clientId: 'herald',
    tls: config.KAFKA_TLS
      ? {
          ca: pemOf(config, 'KAFKA_TLS_CA'),
          cert: pemOf(config, 'KAFKA_TLS_CERT'),
          key: pemOf(config, 'KAFKA_TLS_KEY'),
        }
      : null,
    sasl: mechanism === null || username === null || password === null ? null : { mechanism, username, password },
    replication: config.KAFKA_REPLICATION,
  };
}

function pemOf(config: ClusterConfig, name: 'KAFKA_TLS_CA' | 'KAFKA_TLS_CERT' | 'KAFKA_TLS_KEY'): string | null {
  const path = config[name];
  if (path === null) return null;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
