// A dispatcher for each channel that this process delivers on.

import type { Dispatcher } from '../dispatchers/dispatcher.ts';
import { runDispatcher } from '../dispatchers/dispatcher.ts';
import { defaultDispatcherLimits } from '../dispatchers/limits.ts';
import type { Channel } from '../domain/events.ts';
import { defaultRetryPolicy, fixedRetryPolicy } from '../domain/retry-policy.ts';
import type { Adapters } from './adapters.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { Suppressions } from '../ports/suppressions.ts';
import { cancelsAsked } from '../projections/timers/queries.ts';
import type { Config } from './config.ts';

export async function startDispatchers(
  adapters: Adapters,
  config: Config,
  {
    from,
    channels,
    suppressions,
    reader,
  }: {
    readonly from: 'beginning' | 'end' | number | null;
    readonly channels: readonly Channel[];
    readonly suppressions: Suppressions;
    readonly reader: ReadModelReader;
  },
): Promise<readonly Dispatcher[]> {
  const { log, directory, registry: providers, settings, limiter, clock, logger, metrics } = adapters;
  const retryPolicy = config.RETRY_DELAYS === null ? defaultRetryPolicy : fixedRetryPolicy(config.RETRY_DELAYS);
  return Promise.all(
    channels.map((channel) =>
      runDispatcher({
        channel,
        log,
        directory,
        providers,
        retryPolicy,
        limiter,
        clock,
        logger,
        metrics,
        suppressions,
        cancels: { asked: (partition) => cancelsAsked(reader, partition) },
        noteBreakers: settings.noteBreakers,
        limits: { ...defaultDispatcherLimits(channel), attemptDeadlineMs: config.ATTEMPT_DEADLINE },
        ...(from === null ? {} : { from }),
      }),
    ),
  );
}
