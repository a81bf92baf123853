// herald serve: opens the engines, starts the roles, prints the banner, and stops in the reverse order.
//
//   lock ──> engines ──> projectors' thread ──> dispatchers ──> HTTP ──> banner ... SIGTERM ──> HTTP ──> dispatchers ──> thread ──> engines

import { createChangeSignal } from '../adapters/sqlite/read-models/change-signal.ts';
import { openReadModelReader } from '../adapters/sqlite/read-models/reader.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import { provisionTenant } from '../commands/provision-tenant.ts';
import { readModels } from '../projections/index.ts';
import type { Adapters } from './adapters.ts';
import { openAdapters } from './adapters.ts';
import { banner } from './banner.ts';
import type { Config, Role } from './config.ts';
import { dataFiles } from './data-files.ts';
import { startDispatchers } from './dispatchers.ts';
import { startHttp } from './http.ts';
import { lockOrExplain } from './lock.ts';
import { startProjectorThread } from './projector-thread.ts';
import { demoOwner } from './tokens.ts';

export interface ServeOptions {
  readonly roles: ReadonlySet<Role>;
  readonly from: 'beginning' | 'end' | number | null;
}

/** Something that runs, and how to stop it; `failed` resolves when it ended by itself. */
interface Running {
  readonly failed?: Promise<Error>;
  stop(): Promise<unknown>;
}

/** Runs until a signal or a failure; then stops all that runs, the last started first, and exits. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const signal = firstSignal();
  const lock = lockOrExplain(config);
  const adapters = openAdapters(config);
  const running: Running[] = [];
  try {
    await start(config, options, adapters, running);
  } catch (error) {
    await stopAll(running, adapters);
    throw error;
  }
  const failures = running.flatMap(({ failed }) => (failed === undefined ? [] : [failed]));
  const failure = await Promise.race([signal, ...failures]);
  if (failure instanceof Error)
    adapters.logger.error('a part of the service ended, so all of it stops', { err: failure });
  else adapters.logger.info('stopping', { signal: failure });
  await stopAll(running, adapters);
  lock.release();
  process.exit(failure instanceof Error ? 1 : 0);
}

async function start(
  config: Config,
  { roles, from }: ServeOptions,
  adapters: Adapters,
  running: Running[],
): Promise<void> {
  const { log, directory, logger } = adapters;
  const files = dataFiles(config.DATA_DIR);
  await directory.start();
  await prepareViews(files.views, adapters);
  const changes = createChangeSignal(readModels.map((readModel) => readModel.definition.name));
  const runsProjectors = roles.has('projector');
  const runsScheduler = roles.has('scheduler');
  const input = {
    log: log.share(),
    changes: changes.writer,
    viewsPath: files.views,
    logLevel: config.LOG_LEVEL,
    runsProjectors,
    runsScheduler,
  };
  const thread = runsProjectors || runsScheduler ? await startProjectorThread(input) : null;
  if (thread !== null) running.push(thread);
  if (roles.has('dispatcher')) running.push(...(await startDispatchers(adapters, config, from)));

  const reader = openReadModelReader({ path: files.views, ...(thread === null ? {} : { changes: changes.reader }) });
  running.push({ stop: async () => reader.close() });
  const http = await startHttp({ adapters, config, reader, thread, servesApi: roles.has('api') });
  running.push(http);
  logger.info('started', { roles: [...roles], url: http.url });
  if (http.url !== null && !config.isProduction && config.AUTH_JWKS_URL === null) {
    const apiKey = await demoApiKey(adapters);
    process.stdout.write(banner({ url: http.url, operationsUrl: http.operationsUrl, apiKey }));
  }
}

/** The collections exist before anything reads them, whichever roles run here. */
async function prepareViews(path: string, { logger }: Adapters): Promise<void> {
  const store = openReadModelStore({ path, logger });
  for (const { definition } of readModels) await store.prepare(definition);
  await store.close();
}

async function demoApiKey(adapters: Adapters): Promise<string> {
  const provision = provisionTenant(adapters);
  const { sub: subject, name, email } = demoOwner;
  return adapters.directory.apiKey(await provision({ subject, name, email, actor: subject }));
}

async function stopAll(running: readonly Running[], adapters: Adapters): Promise<void> {
  for (const one of running.toReversed()) {
    await one.stop().catch((err: unknown) => adapters.logger.error('a part did not stop cleanly', { err }));
  }
  await adapters.close();
}

/** The first of SIGTERM and SIGINT; any after it change nothing, since npm and a terminal both send a second one. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => resolve(name));
  });
}
