// The embedded engines, opened on the main thread: log, settings, limits, templates and everything that goes out.

import { createOutbound } from '../adapters/http/outbound.ts';
import { createTemplateRenderer } from '../adapters/liquid/template-renderer.ts';
import { createMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { createTenantDirectory } from '../adapters/memory/tenant-directory.ts';
import { createApiKeys } from '../adapters/node/api-keys.ts';
import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { createSecretBox } from '../adapters/node/secret-box.ts';
import { openEventLog } from '../adapters/sqlite/event-log/event-log.ts';
import { openSettingsStore } from '../adapters/sqlite/settings/store.ts';
import { createProviderRegistry } from '../channels/registry.ts';
import { createCodec } from '../codec/index.ts';
import type { Config } from './config.ts';
import { dataFiles } from './data-files.ts';
import { eventLogShape } from './event-log-shape.ts';
import { encryptionSecretOf } from './secrets.ts';

export type Adapters = ReturnType<typeof openAdapters>;

export function openAdapters(config: Config) {
  const files = dataFiles(config.DATA_DIR);
  const clock = createClock();
  const logger = createLogger({ level: config.LOG_LEVEL });
  const metrics = createMetrics();
  const log = openEventLog({ ...eventLogShape, path: files.log, codec: createCodec(), clock, logger, metrics });
  const settings = openSettingsStore({ path: files.settings });
  const secretBox = createSecretBox(encryptionSecretOf(config));
  const apiKeys = createApiKeys(clock);
  const directory = createTenantDirectory({ store: settings, secretBox, apiKeys, clock, logger });
  const outbound = createOutbound({ allow: config.OUTBOUND_ALLOW, clock });
  const registry = createProviderRegistry({ outbound, clock, providerUrls: config.PROVIDER_URLS });
  const renderer = createTemplateRenderer({ logger, clock });
  const limiter = createMemoryRateLimiter();
  return {
    clock,
    logger,
    metrics,
    log,
    settings,
    secretBox,
    apiKeys,
    directory,
    outbound,
    registry,
    renderer,
    limiter,
    /** In the reverse order of who uses whom. */
    async close() {
      await renderer.close();
      await limiter.close();
      await directory.close();
      await outbound.close();
      await log.close();
      await settings.close();
      logger.flush();
    },
  };
}
