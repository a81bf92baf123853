// What the main thread works with: the engines, the settings in memory, templates and everything that goes out.

import { createOutbound } from '../adapters/http/outbound.ts';
import { createTemplateRenderer } from '../adapters/liquid/template-renderer.ts';
import { createTenantDirectory } from '../adapters/memory/tenant-directory.ts';
import { createApiKeys } from '../adapters/node/api-keys.ts';
import { createProviderRegistry } from '../channels/registry.ts';
import { createCodec } from '../codec/index.ts';
import { followAppends } from './append-health.ts';
import type { Config } from './config.ts';
import { createAppendCount } from './count-appends.ts';
import { type Engines, openEngines } from './engines.ts';
import { eraseThoseThatCameBack } from './erased-tenants.ts';
import type { Health } from './health.ts';
import type { Process } from './process.ts';
import { callbackAddressesOf, inboxTokensOf, secretBoxOf, unsubscribeLinksOf } from './secrets.ts';
import { checkTie } from './tie.ts';

export type Adapters = Awaited<ReturnType<typeof openAdapters>>;

export interface AdapterDependencies extends Process {
  readonly config: Config;
  readonly health: Health;
  /** Aborts when the process is told to stop: waiting for an engine ends. */
  readonly signal: AbortSignal;
}

export async function openAdapters(deps: AdapterDependencies) {
  const { config, clock, logger, metrics, health, turns } = deps;
  const engines = await openEngines({ ...deps, codec: createCodec() });
  const { settings, limiter } = engines;
  const { log, isUp } = followAppends(engines.log, clock, createAppendCount(metrics));
  health.need('log', isUp);
  const { secretBox, idempotency, jobs } = await openTied(deps, engines).catch(async (error: unknown) => {
    await engines.close();
    throw error;
  });
  const apiKeys = createApiKeys(clock);
  const directory = createTenantDirectory({ store: settings, secretBox, apiKeys, clock, logger });
  const outbound = createOutbound({ allow: config.OUTBOUND_ALLOW, clock, metrics });
  const registry = createProviderRegistry({ outbound, clock, providerUrls: config.PROVIDER_URLS });
  const callbackAddresses = await callbackAddressesOf(config);
  const renderer = createTemplateRenderer({ logger, clock });
  return {
    clock,
    logger,
    metrics,
    turns,
    engines,
    log,
    /** By the appends of this thread. */
    logIsUp: isUp,
    settings,
    idempotency,
    jobs,
    secretBox,
    apiKeys,
    directory,
    outbound,
    registry,
    callbackAddresses,
    renderer,
    limiter,
    unsubscribeLinks: await unsubscribeLinksOf(config),
    inboxTokens: await inboxTokensOf(config),
    /** In the reverse order of who uses whom. */
    async close() {
      await renderer.close();
      await directory.close();
      await outbound.close();
      await engines.close();
    },
  };
}

/** Before anything is sealed, sent or appended. */
async function openTied(
  { config, logger }: Pick<AdapterDependencies, 'config' | 'logger'>,
  { log, tie, settings, openIdempotency, openJobs }: Engines,
) {
  const secretBox = await secretBoxOf(config);
  await checkTie({ tie, settings, secretBox });
  const [idempotency, jobs] = [await openIdempotency(), await openJobs()];
  await eraseThoseThatCameBack({ log, settings, idempotency, jobs, logger });
  return { secretBox, idempotency, jobs };
}
