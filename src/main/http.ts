// The two ports: operations, which answers from the first moment on, and the API.

import type { RequestListener } from 'node:http';

import { type ApiOptions, createApi } from '../api/app.ts';
import { createOperations } from '../api/operations.ts';
import { listen } from '../api/server.ts';
import type { CatchUps } from '../api/whole-read-models.ts';
import type { MetricsSnapshot } from '../adapters/node/metrics.ts';
import type { ItemMaker } from '../ports/item-maker.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { SuppressionList } from '../ports/suppressions.ts';
import type { TokenKeys } from '../ports/token-keys.ts';
import type { Adapters } from './adapters.ts';
import type { Config } from './config.ts';
import type { Health } from './health.ts';
import type { Process } from './process.ts';
import { addressOf } from './public-url.ts';
import { encryptionSecretOf } from './secrets.ts';
import { StartError } from './start-error.ts';
import { readVersion } from './version.ts';
import { signInOf, tokenIssuerOf } from './tokens.ts';
import { createWebAssets } from './web/load.ts';

/** Whoever looks after the service holds a few: a crowd on this port neither fills the process nor keeps them out. */
const operationsLimits = { maxConnections: 256, connectionsPerAddress: 64 };
/** Requests in flight get so long to finish when the service stops. */
const stopGraceMs = 5000;

export interface Http {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ApiHttp extends Http {
  /** Once the service has started: what a first visitor would wait for is made ready, beside what it does. */
  warm(): void;
}

export interface OperationsHttp extends Http {
  /** Everything has been started: ready from now on, when all it needs is up. */
  started(): void;
  /** From now on it says that the process stops. */
  stopping(): void;
}

interface OperationsDependencies extends Process {
  readonly config: Config;
  readonly health: Health;
  /** What other threads have counted. */
  readonly otherMetrics: () => Promise<readonly MetricsSnapshot[]>;
}

/** @throws StartError when OPS_PORT can't be listened on */
export async function startOperations(deps: OperationsDependencies): Promise<OperationsHttp> {
  const { health, clock, logger, metrics, otherMetrics } = deps;
  const closing = new AbortController();
  let hasStarted = false;
  const operations = createOperations({
    dependencies: health.needed,
    optional: health.optional,
    hasStarted: () => hasStarted,
    version: readVersion(),
    metrics: { read: async () => metrics.read(await otherMetrics()), contentType: metrics.contentType },
    closing: closing.signal,
    clock,
    logger,
  });
  return {
    ...(await open(operations, 'OPS_PORT', { ...deps, limits: operationsLimits })),
    started() {
      hasStarted = true;
    },
    stopping: () => closing.abort(),
  };
}

interface ApiDependencies {
  readonly adapters: Adapters;
  readonly config: Config;
  readonly reader: ReadModelReader;
  readonly suppressions: SuppressionList;
  readonly catchUps: CatchUps;
  readonly itemMaker: ItemMaker | null;
}

/** @throws StartError when PORT can't be listened on */
export async function startApi({
  adapters,
  config,
  reader,
  suppressions,
  catchUps,
  itemMaker,
}: ApiDependencies): Promise<ApiHttp> {
  const closing = new AbortController();
  const { tokenKeys, options } = await apiOptionsOf(config);
  const webAssets = createWebAssets({ logger: adapters.logger, closing: closing.signal });
  const given = { ...adapters, reader, suppressions, catchUps, itemMaker, tokenKeys, webAssets, options };
  const { url, stop } = await openApi(createApi({ ...given, closing: closing.signal }), { ...adapters, config });
  return {
    url,
    warm() {
      // What goes wrong is in the log; whoever asks for a page tries again.
      webAssets().catch(() => undefined);
    },
    stop() {
      closing.abort();
      return stop();
    },
  };
}

/** How the API is set, and whose tokens it takes. */
export async function apiOptionsOf(
  config: Config,
): Promise<{ readonly tokenKeys: TokenKeys; readonly options: ApiOptions }> {
  const { tokenKeys, issuer, audience, jwks } = await tokenIssuerOf(config);
  return {
    tokenKeys,
    options: {
      rateLimit: config.RATE_LIMIT,
      itemLimit: config.ITEM_LIMIT,
      keyLimit: config.KEY_LIMIT,
      readLimit: config.READ_LIMIT,
      tokens: {
        issuer,
        audience,
        tenantClaim: config.AUTH_TENANT_CLAIM,
        nameClaim: config.AUTH_NAME_CLAIM,
        algorithms: config.AUTH_ALGORITHMS,
        lifetimeMaxMs: config.AUTH_TOKEN_LIFETIME,
        tellsClaims: !config.isProduction,
      },
      signIn: signInOf(config),
      corsOrigins: config.CORS_ORIGINS,
      trustedProxies: config.TRUSTED_PROXIES,
      hstsSeconds: Math.floor((config.HSTS_MAX_AGE ?? 0) / 1000),
      cursorSecret: await encryptionSecretOf(config),
      ...(jwks === undefined ? {} : { jwks }),
    },
  };
}

/** @throws StartError when PORT can't be listened on */
export function openApi(
  api: RequestListener,
  { config, logger, metrics }: Pick<Process, 'logger' | 'metrics'> & { readonly config: Config },
): Promise<Http> {
  const limits = { connectionsPerAddress: config.CONNECTIONS_PER_ADDRESS };
  return open(api, 'PORT', { config, logger, metrics, limits, trustedProxies: config.TRUSTED_PROXIES });
}

async function open(
  app: Parameters<typeof listen>[0],
  name: 'PORT' | 'OPS_PORT',
  { config, ...options }: { readonly config: Config } & Omit<Parameters<typeof listen>[1], 'host' | 'port'>,
): Promise<Http> {
  const { HOST: host, [name]: port } = config;
  const server = await listen(app, { ...options, host, port }).catch((error: unknown) => {
    throw new StartError(
      `${name}: can't listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return { url: addressOf(host, server.port), stop: () => server.close(stopGraceMs) };
}
