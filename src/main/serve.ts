// herald serve: opens the engines, starts the roles, prints the banner, and stops in the reverse order, a stage at a time.
//
//   operations ──> engines ──> what is worked with: projectors' thread, lists ──> work: dispatchers, retention, jobs, API ──> banner
//   SIGTERM ──> the same backwards, all of a stage at once: no work begins while other work is waited for

import { provisionTenant } from '../commands/provision-tenant.ts';
import type { Channel } from '../domain/events.ts';
import { bullets } from '../domain/tenant.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { SecretBoxError } from '../ports/secret-box.ts';
import type { CatchUp } from '../projections/catching-up.ts';
import { createCatchUp } from '../projections/catching-up.ts';
import { readModels } from '../projections/index.ts';
import { createServingReader } from '../projections/serving-reader.ts';
import type { Keeper } from '../retention/keeper.ts';
import { startKeeper } from '../retention/keeper.ts';
import type { MetricsSnapshot } from '../adapters/node/metrics.ts';
import { letHelpersGiveWay } from '../adapters/node/thread-niceness.ts';
import type { Adapters } from './adapters.ts';
import { openAdapters } from './adapters.ts';
import { banner } from './banner.ts';
import type { Config, Role } from './config.ts';
import { isCluster, letsLoopbackThrough } from './config.ts';
import { startDelivering } from './delivering.ts';
import { createHealth } from './health.ts';
import type { Health } from './health.ts';
import { clusterHeapGrowsPercent, keepHeapsSmall } from './heap.ts';
import { makeOrExplain } from './lock.ts';
import { startApi, startOperations } from './http.ts';
import { hasItemsThread, startItemsThread } from './items-thread.ts';
import { startJobs } from './jobs.ts';
import { checkPositions } from './positions-check.ts';
import { createProcess } from './process.ts';
import { startProjectorThread } from './projector-thread.ts';
import { checkSecretFiles } from './secrets.ts';
import { readModelHealth } from './read-model-health.ts';
import { firstSignal } from './signals.ts';
import { dashboardLink, demoOwner } from './tokens.ts';
import { startWatching } from './watchdog.ts';

export interface ServeOptions {
  readonly roles: ReadonlySet<Role>;
  readonly from: 'beginning' | 'end' | number | null;
  /** Whose dispatchers run, where dispatchers do. */
  readonly channels: readonly Channel[];
}

/** Something that runs, and how to stop it; `failed` resolves when it ended by itself. */
interface Running {
  readonly failed?: Promise<Error>;
  stop(): Promise<unknown>;
}

interface Started {
  /** Of the API; null: it isn't served here. */
  readonly url: string | null;
  metrics(): Promise<readonly MetricsSnapshot[]>;
  /** Makes ready what isn't needed for a start. */
  warm(): void;
}

/** What is stopped at once; the last stage first. */
type Stages = Running[][];

/** Runs until a signal or a failure; then stops all that runs, the last stage first, and exits. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  keepHeapsSmall(isCluster(config) ? clusterHeapGrowsPercent : undefined);
  letHelpersGiveWay();
  const told = new AbortController();
  const signal = firstSignal();
  void signal.then(() => told.abort());
  // Secrets that nobody gave are made in there, with either set of engines.
  if (!config.isProduction) await makeOrExplain(config);
  const parts = createProcess(config);
  const { logger } = parts;
  await checkSecretFiles(config, logger);
  const health = createHealth();
  const stages: Stages = [];
  const stopOne = (one: Running) =>
    one.stop().catch((err: unknown) => logger.error('a part did not stop cleanly', { err }));
  const stopAll = async () => {
    for (const stage of stages.toReversed()) await Promise.all(stage.map(stopOne));
    logger.flush();
  };
  let failure: unknown;
  try {
    let threadMetrics = async (): Promise<readonly MetricsSnapshot[]> => [];
    const operations = await startOperations({ ...parts, config, health, otherMetrics: () => threadMetrics() });
    stages.push([operations]);
    const adapters = await openAdapters({ ...parts, config, health, signal: told.signal });
    stages.push([{ stop: () => adapters.close() }]);
    const started = await startRoles(config, { ...options, signal: told.signal }, adapters, health, stages);
    const { url } = started;
    threadMetrics = started.metrics;
    operations.started();
    started.warm();
    logger.info('started', { roles: [...options.roles], url, operationsUrl: operations.url });
    if (letsLoopbackThrough(config))
      logger.info(
        'receivers on this machine are let through, over http too: production refuses them unless OUTBOUND_ALLOW names them',
      );
    if (url !== null && !config.isProduction && config.AUTH_JWKS_URL === null) {
      const dashboard = await dashboardLink(url, config);
      process.stdout.write(
        banner({ url, operationsUrl: operations.url, apiKey: await demoApiKey(adapters), dashboard }),
      );
    }
    const failures = stages.flat().flatMap(({ failed }) => (failed === undefined ? [] : [failed]));
    failure = await Promise.race([signal, ...failures]);
    operations.stopping();
  } catch (error) {
    await stopAll();
    if (told.signal.aborted) process.exit(0);
    throw error;
  }
  if (failure instanceof Error) logger.error('a part of the service ended, so all of it stops', { err: failure });
  else logger.info('stopping', { signal: failure });
  await stopAll();
  process.exit(failure instanceof Error ? 1 : 0);
}

async function startRoles(
  config: Config,
  { roles, from, channels, signal }: ServeOptions & { readonly signal: AbortSignal },
  adapters: Adapters,
  health: Health,
  stages: Stages,
): Promise<Started> {
  const { engines, directory } = adapters;
  await directory.start();
  const runsProjectors = roles.has('projector');
  const runsScheduler = roles.has('scheduler');
  const { reader: stored, damage, thread: threadEngines } = await engines.openViews(runsProjectors || runsScheduler);
  stages.push([{ stop: async () => stored.close() }]);
  const { log, clock } = adapters;
  await checkPositions({ log, reader: stored, clock });
  const reader = createServingReader({ log, reader: stored, readModels, clock });
  const told = { logLevel: config.LOG_LEVEL, runsProjectors, runsScheduler };
  const workedWith: Running[] = [];
  const work: Running[] = [];
  stages.push(workedWith, work);
  const thread =
    threadEngines === null ? null : await startProjectorThread({ engines: threadEngines, ...told }, signal);
  if (thread !== null) workedWith.push(thread);
  const catchUps = catchUpsOf(adapters.log, reader);
  // Before anybody can post: a first notification would be something to catch up with for whoever asks for it, and the process unready until it is folded.
  await Promise.all([...catchUps.values()].map((catchUp) => catchUp.begin()));
  const answersFrom = roles.has('api') ? catchUps : new Map<string, CatchUp>();
  const folding = () => thread?.folding() ?? [];
  health.need('readModels', readModelHealth({ reader, damage, clock: adapters.clock, folding, catchUps: answersFrom }));
  const delivering = await startDelivering(adapters, config, { roles, from, channels, reader, signal });
  workedWith.push(...delivering.following);
  work.push(...delivering.sending);
  health.need('log', async () => {
    const isUp = await adapters.logIsUp();
    return isUp === true ? (engines.losing() ?? delivering.logIsUp()) : isUp;
  });
  const keeper = runsProjectors ? await startRetention(config, adapters, stored) : null;
  if (keeper !== null) work.push(keeper);
  if (runsScheduler) work.push(startJobs(adapters, reader, catchUps));
  const watched = { adapters, health, roles, reader: stored, thread, delivering, keeper };
  work.push(startWatching({ ...watched, isCluster: isCluster(config) }));
  const { partitioning } = log;
  const items = hasItemsThread(config, roles)
    ? await startItemsThread({ partitioning, outboundAllow: config.OUTBOUND_ALLOW }, adapters.logger, signal)
    : null;
  if (items !== null) workedWith.push(items);
  const metrics = async () =>
    (await Promise.all([thread?.metrics() ?? [], delivering.metrics(), items?.metrics() ?? []])).flat();
  if (!roles.has('api')) return { url: null, metrics, warm() {} };
  const { suppressions } = delivering;
  const api = await startApi({ adapters, config, reader, suppressions, catchUps, itemMaker: items?.itemMaker ?? null });
  work.push(api);
  return { url: api.url, metrics, warm: () => api.warm() };
}

function startRetention(config: Config, adapters: Adapters, reader: ReadModelReader): Promise<Keeper> {
  const retention = { keptMs: config.RETENTION, statisticsMs: config.RETENTION_STATISTICS };
  return startKeeper({ ...adapters, reader, retention });
}

function catchUpsOf(log: EventLog, reader: ReadModelReader): ReadonlyMap<string, CatchUp> {
  return new Map(readModels.map((readModel) => [readModel.definition.name, createCatchUp({ log, reader, readModel })]));
}

async function demoApiKey(adapters: Adapters): Promise<string> {
  const provision = provisionTenant(adapters);
  const { sub: subject, name, email } = demoOwner;
  const tenantId = await provision({ subject, name, email, actor: subject });
  try {
    return await adapters.directory.apiKey(tenantId);
  } catch (err) {
    if (!(err instanceof SecretBoxError)) throw err;
    adapters.logger.error("the demo tenant's API key can't be opened: is ENCRYPTION_SECRET the one that sealed it?", {
      err,
    });
    return bullets;
  }
}
