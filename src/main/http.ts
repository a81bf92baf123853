// The two ports: the API, and operations.

import { createApi } from '../api/app.ts';
import { createOperations } from '../api/operations.ts';
import type { HttpServer } from '../api/server.ts';
import { listen } from '../api/server.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { Adapters } from './adapters.ts';
import type { Config } from './config.ts';
import type { ProjectorThread } from './projector-thread.ts';
import { encryptionSecretOf } from './secrets.ts';
import { StartError } from './start-error.ts';
import { tokenIssuerOf } from './tokens.ts';

/** Requests in flight get so long to finish when the service stops. */
const stopGraceMs = 5000;

export interface Http {
  /** null where the API isn't served. */
  readonly url: string | null;
  readonly operationsUrl: string;
  stop(): Promise<void>;
}

interface HttpDependencies {
  readonly adapters: Adapters;
  readonly config: Config;
  readonly reader: ReadModelReader;
  readonly thread: ProjectorThread | null;
  readonly servesApi: boolean;
}

export async function startHttp(deps: HttpDependencies): Promise<Http> {
  const { adapters, config, reader, thread, servesApi } = deps;
  const { logger, metrics, log, settings } = adapters;
  const closing = new AbortController();
  const operations = createOperations({
    dependencies: { log: () => log.ready(), readModels: () => reader.ready(), settings: () => settings.ready() },
    metrics: { read: async () => metrics.read((await thread?.metrics()) ?? []), contentType: metrics.contentType },
    closing: closing.signal,
    logger,
  });
  const servers: HttpServer[] = [];
  const open = async (app: Parameters<typeof listen>[0], name: 'PORT' | 'OPS_PORT') => {
    const { HOST: host, [name]: port } = config;
    const server = await listen(app, { host, port, logger }).catch((error: unknown) => {
      throw new StartError(
        `${name}: can't listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
    servers.push(server);
    return urlOf(host, server.port);
  };
  const stop = async () => {
    closing.abort();
    await Promise.all(servers.map((server) => server.close(stopGraceMs)));
  };
  try {
    const operationsUrl = await open(operations, 'OPS_PORT');
    const url = servesApi ? await open(await apiOf(deps, closing.signal), 'PORT') : null;
    return { url, operationsUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function apiOf({ adapters, config, reader }: HttpDependencies, closing: AbortSignal) {
  const { tokenKeys, issuer, audience, jwks } = await tokenIssuerOf(config);
  return createApi({
    ...adapters,
    reader,
    tokenKeys,
    closing,
    options: {
      rateLimit: config.RATE_LIMIT,
      tokens: { issuer, audience, tenantClaim: config.AUTH_TENANT_CLAIM },
      corsOrigins: config.CORS_ORIGINS,
      cursorSecret: encryptionSecretOf(config),
      ...(jwks === undefined ? {} : { jwks }),
    },
  });
}

/** An address that a person can open: every interface is reached by localhost. */
function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
