// herald serve --as-of: the read side of the API as of a moment, beside the running service, which notices nothing of it.
//
//   log, read alone ──> read models as of then, in a folder of their own ──> API, read-only

import { existsSync } from 'node:fs';

import { createTenantDirectory } from '../adapters/memory/tenant-directory.ts';
import { createMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { createApiKeys } from '../adapters/node/api-keys.ts';
import { readOnly } from '../api/look-back.ts';
import { createLookBackApi } from '../lookback/api.ts';
import { settingsToLookAt } from '../lookback/settings.ts';
import { openSettingsBeside } from './beside.ts';
import type { Config } from './config.ts';
import { isCluster } from './config.ts';
import { dataFiles } from './data-files.ts';
import { clusterHeapGrowsPercent, keepHeapsSmall } from './heap.ts';
import { apiOptionsOf, type Http, openApi } from './http.ts';
import { type LookBack, openLookBack } from './look-back.ts';
import type { AsOfOptions } from './look-back-options.ts';
import { createProcess, type Process } from './process.ts';
import { callbackAddressesOf, checkSecretFiles, inboxTokensOf, secretBoxOf, unsubscribeLinksOf } from './secrets.ts';
import { firstSignal } from './signals.ts';
import { StartError } from './start-error.ts';
import { checkTie } from './tie.ts';
import { createWebAssets } from './web/load.ts';

interface Opened {
  close(): Promise<unknown>;
}

/** Runs until a signal, folding included. @throws StartError */
export async function serveAsOf(config: Config, options: AsOfOptions): Promise<void> {
  keepHeapsSmall(isCluster(config) ? clusterHeapGrowsPercent : undefined);
  const signal = firstSignal();
  const parts = createProcess(config);
  const opened: Opened[] = [];
  const closeAll = async () => {
    for (const one of opened.toReversed())
      await one.close().catch((err: unknown) => parts.logger.error('a part did not stop cleanly', { err }));
    parts.logger.flush();
  };
  // What is folded by then is of no use, and goes with the process.
  const isTold = signal.then(() => null);
  const closing = new AbortController();
  try {
    const started = await Promise.race([isTold, start(config, options, parts, opened)]);
    if (started === null) process.exit(0);
    const { http, lookBack } = started;
    process.stdout.write(
      `Herald as of ${new Date(options.asOf).toISOString()}, to be read alone, listens on ${http.url}\nWhat isn't in the log (keys, providers, templates, jobs) is shown as it is now.\n`,
    );
    await Promise.race([signal, lookBack.erased(closing.signal).then(refuseErased)]);
  } finally {
    closing.abort();
    await closeAll();
  }
  process.exit(0);
}

async function start(
  config: Config,
  { asOf, keep, port }: AsOfOptions,
  parts: Process,
  opened: Opened[],
): Promise<{ readonly http: Http; readonly lookBack: LookBack }> {
  const { clock, logger } = parts;
  checkThere(config);
  await checkSecretFiles(config, logger);
  const beside = await openSettingsBeside(config, parts);
  opened.push(beside);
  const settings = settingsToLookAt(beside.settings, () => readOnly(asOf));
  const secretBox = await secretBoxOf(config);
  const lookBack = await openLookBack(config, parts, { asOf, keep });
  opened.push(lookBack);
  const identity = { id: lookBack.log.id, hasSettings: true, noteSettings: async () => undefined };
  await checkTie({ tie: { identity, ...beside.places }, settings, secretBox });
  const apiKeys = createApiKeys(clock);
  const directory = createTenantDirectory({ store: settings, secretBox, apiKeys, clock, logger });
  opened.push(directory);
  await directory.start();
  const closing = new AbortController();
  const { tokenKeys, options } = await apiOptionsOf(config);
  const app = await createLookBackApi({
    ...parts,
    log: lookBack.log,
    reader: lookBack.reader,
    jobs: beside.jobs,
    settings,
    directory,
    secretBox,
    apiKeys,
    limiter: createMemoryRateLimiter(),
    callbackAddresses: await callbackAddressesOf(config),
    unsubscribeLinks: await unsubscribeLinksOf(config),
    inboxTokens: await inboxTokensOf(config),
    tokenKeys,
    webAssets: createWebAssets({ logger, closing: closing.signal }),
    closing: closing.signal,
    options: { ...options, asOf },
  });
  const http = await openApi(app, { ...parts, config: { ...config, PORT: port } });
  opened.push({
    close() {
      closing.abort();
      return http.stop();
    },
  });
  return { http, lookBack };
}

function refuseErased(): never {
  throw new StartError(
    'A recipient or a tenant was erased since this was folded, and what is to be forgotten was still shown here: start it again.',
  );
}

/** What a start of the service would make is read here, and nothing is made in its place. @throws StartError naming what isn't there */
function checkThere(config: Config): void {
  const { encryptionSecret, issuerKey } = dataFiles(config.DATA_DIR);
  const needed = [
    ...(config.ENCRYPTION_SECRET === null ? [encryptionSecret] : []),
    ...(config.AUTH_JWKS_URL === null ? [issuerKey] : []),
  ];
  const missing = needed.find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new StartError(
      `${missing} is not there: a look-back takes the secrets of the service, and makes none. Name the service's DATA_DIR.`,
    );
}
