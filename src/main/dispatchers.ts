// A dispatcher for each channel that this process delivers on, in whichever thread.

import type { Dispatcher, DispatcherDependencies } from '../dispatchers/dispatcher.ts';
import { runDispatcher } from '../dispatchers/dispatcher.ts';
import { defaultDispatcherLimits } from '../dispatchers/limits.ts';
import type { Channel } from '../domain/events.ts';
import { defaultRetryPolicy, fixedRetryPolicy } from '../domain/retry-policy.ts';
import type { Config } from './config.ts';

/** What dispatchers are told to do. */
export interface Dispatching {
  readonly from: 'beginning' | 'end' | number | null;
  readonly channels: readonly Channel[];
}

export function startDispatchers(
  deps: Required<Omit<DispatcherDependencies, 'channel' | 'from' | 'retryPolicy' | 'limits'>>,
  config: Config,
  { from, channels }: Dispatching,
): Promise<readonly Dispatcher[]> {
  const retryPolicy = config.RETRY_DELAYS === null ? defaultRetryPolicy : fixedRetryPolicy(config.RETRY_DELAYS);
  return Promise.all(
    channels.map((channel) =>
      runDispatcher({
        ...deps,
        channel,
        retryPolicy,
        limits: { ...defaultDispatcherLimits(channel), attemptDeadlineMs: config.ATTEMPT_DEADLINE },
        ...(from === null ? {} : { from }),
      }),
    ),
  );
}
