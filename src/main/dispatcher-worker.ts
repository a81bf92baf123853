// The entry of the dispatchers' thread: dispatchers on engines of its own, with the stores that the main thread has.

import { workerData } from 'node:worker_threads';

import { createOutbound } from '../adapters/http/outbound.ts';
import { createDeliveryDirectory } from '../adapters/memory/delivery-directory.ts';
import { createClock } from '../adapters/node/clock.ts';
import { createLogger } from '../adapters/node/logger.ts';
import { createMetrics } from '../adapters/node/metrics.ts';
import { askStores } from '../adapters/node/delivery-port.ts';
import { createProviderRegistry } from '../channels/registry.ts';
import { createCodec } from '../codec/index.ts';
import { followSuppressions } from '../projections/suppressions/follow.ts';
import { followAppends } from './append-health.ts';
import { createAppendCount } from './count-appends.ts';
import type { DispatchersTold, DispatcherThreadInput } from './dispatcher-thread.ts';
import { startDispatchers } from './dispatchers.ts';
import { heardDirectory } from './heard-directory.ts';
import { callbackAddressesOf, secretBoxOf, unsubscribeLinksOf } from './secrets.ts';
import { openDispatcherEngines } from './thread-engines.ts';
import { toMainThread } from './thread-entry.ts';

const input = workerData as DispatcherThreadInput;
const { config } = input;

const clock = createClock();
const logger = createLogger({ level: config.LOG_LEVEL });
const metrics = createMetrics({ processMetrics: false, thread: 'dispatchers' });
const stopping = new AbortController();
const engines = await openDispatcherEngines(input.engines, {
  codec: createCodec(),
  clock,
  logger,
  metrics,
  signal: stopping.signal,
});
const { log, isUp } = followAppends(engines.log, clock, createAppendCount(metrics));
const stores = askStores(input.stores, (tenantId) => directory.forget(tenantId));
const secretBox = await secretBoxOf(config);
const directory = createDeliveryDirectory({ store: stores.settings, secretBox, clock, logger });
await directory.start();
const outbound = createOutbound({ allow: config.OUTBOUND_ALLOW, clock, metrics });
const providers = createProviderRegistry({ outbound, clock, providerUrls: config.PROVIDER_URLS });

const main = toMainThread<DispatchersTold>({ metrics, stop });
const suppressed = await followSuppressions({ log, clock, logger }, stopping.signal, ({ topic, partition, offset }) =>
  main.tell({ kind: 'suppressions', position: { topic, partition, offset } }),
);
if (input.measuresSuppressions) metrics.gauge('herald_suppressions', () => suppressed.list.size);

const dispatchers = await startDispatchers(
  {
    log,
    directory: heardDirectory(directory, stores.hear),
    providers,
    limiter: engines.limiter,
    clock,
    logger,
    metrics,
    suppressions: suppressed.list,
    cancels: stores.cancels,
    callbackAddresses: await callbackAddressesOf(config),
    noteBreakers: stores.settings.noteBreakers,
    unsubscribeLinks: await unsubscribeLinksOf(config),
  },
  config,
  input,
);
void Promise.race(dispatchers.map(({ failed }) => failed)).then(main.failed);
main.started();
main.tellChanges(async () => {
  const activities = dispatchers.map(({ channel, activity }) => [channel, activity()] as const);
  // On the embedded engines it is the main thread that writes, and knows now.
  return { kind: 'state', state: { activities, log: input.engines.kind === 'embedded' || (await isUp()) } };
});

async function stop(): Promise<void> {
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()));
  stopping.abort();
  suppressed.stop();
  await directory.close();
  stores.close();
  await outbound.close();
  await engines.close();
  logger.flush();
}
