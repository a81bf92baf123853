// The dispatchers of a process, in the main thread or in one of their own, and the suppression lists that they and the API go by.

import { availableParallelism } from 'node:os';

import type { MetricsSnapshot } from '../adapters/node/metrics.ts';
import type { UpOrWhy } from '../api/operations.ts';
import type { Activity, Dispatcher } from '../dispatchers/dispatcher.ts';
import type { Channel } from '../domain/events.ts';
import type { Cancels } from '../ports/cancels.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { SuppressionList } from '../ports/suppressions.ts';
import { followSuppressions } from '../projections/suppressions/follow.ts';
import { createSuppressionList } from '../projections/suppressions/list.ts';
import { cancelsAsked, roundsEnded } from '../projections/timers/queries.ts';
import type { Adapters } from './adapters.ts';
import type { Config, Role } from './config.ts';
import type { DispatcherThread } from './dispatcher-thread.ts';
import { startDispatcherThread } from './dispatcher-thread.ts';
import type { Dispatching } from './dispatchers.ts';
import { startDispatchers } from './dispatchers.ts';

export interface Delivering {
  /** For whoever accepts: what it says to have reached, dispatchers of this process have as well. */
  readonly suppressions: SuppressionList;
  readonly channels: readonly Channel[];
  /** Of a channel's dispatcher; nothing where it isn't this process's. */
  activity(channel: Channel): readonly Activity[];
  metrics(): Promise<readonly MetricsSnapshot[]>;
  /** Whether what they append is taken, as far as it isn't known from this thread's own appends. */
  logIsUp(): UpOrWhy;
  readonly sending: readonly Running[];
  /** What sends, and whoever accepts, asks for it until both have stopped. */
  readonly following: readonly Running[];
}

interface Running {
  readonly failed?: Promise<Error>;
  stop(): Promise<unknown>;
}

interface DeliveringOptions extends Dispatching {
  readonly roles: ReadonlySet<Role>;
  readonly reader: Pick<ReadModelReader, 'find' | 'get'>;
  readonly signal: AbortSignal;
}

/**
 * From three cores on, where a process accepts as well as delivers: on two, three threads take turns, and a process that only delivers has its main thread
 * for that.
 */
export function hasDispatcherThread({ THREADS: threads }: Config, roles: ReadonlySet<Role>): boolean {
  if (!roles.has('dispatcher')) return false;
  return threads === 'auto' ? roles.has('api') && availableParallelism() > 2 : threads > 2;
}

export async function startDelivering(
  adapters: Adapters,
  config: Config,
  options: DeliveringOptions,
): Promise<Delivering> {
  const { roles, from, channels, reader, signal } = options;
  const hasThread = hasDispatcherThread(config, roles);
  const usesLists = roles.has('api') || (roles.has('dispatcher') && !hasThread);
  const followed = usesLists ? await followSuppressions(adapters, signal) : null;
  const list = followed?.list ?? createSuppressionList();
  if (usesLists) adapters.metrics.gauge('herald_suppressions', () => list.size);
  const following = followed === null ? [] : [{ stop: async () => followed.stop() }];
  const dispatching = { from, channels: roles.has('dispatcher') ? channels : [] };
  const cancels: Cancels = {
    asked: (...of) => cancelsAsked(reader, ...of),
    ended: (...of) => roundsEnded(reader, ...of),
  };
  if (!hasThread) return inThisThread(adapters, config, { ...dispatching, suppressions: list, cancels }, following);
  const engines = adapters.engines.forDispatchers();
  const input = { ...dispatching, config, engines, measuresSuppressions: !usesLists };
  const thread = await startDispatcherThread(input, { settings: adapters.settings, cancels }, signal);
  adapters.directory.onForget(thread.forget);
  return {
    ...thread,
    channels,
    suppressions: reachedBy(list, thread),
    sending: [thread],
    following,
  };
}

async function inThisThread(
  adapters: Adapters,
  config: Config,
  dispatching: Dispatching & { readonly suppressions: SuppressionList; readonly cancels: Cancels },
  following: Delivering['following'],
): Promise<Delivering> {
  const {
    log,
    directory,
    registry: providers,
    settings,
    limiter,
    clock,
    logger,
    metrics,
    callbackAddresses,
  } = adapters;
  const { suppressions, cancels } = dispatching;
  const { noteBreakers } = settings;
  const { unsubscribeLinks } = adapters;
  const told = { suppressions, cancels, noteBreakers, unsubscribeLinks, callbackAddresses };
  const deps = { log, directory, providers, limiter, clock, logger, metrics, ...told };
  const dispatchers: readonly Dispatcher[] = await startDispatchers(deps, config, dispatching);
  return {
    suppressions,
    channels: dispatching.channels,
    activity: (channel) => dispatchers.find((dispatcher) => dispatcher.channel === channel)?.activity() ?? [],
    metrics: async () => [],
    logIsUp: () => true,
    sending: dispatchers,
    following,
  };
}

function reachedBy(list: SuppressionList, thread: Pick<DispatcherThread, 'hasSuppressed'>): SuppressionList {
  return { ...list, hasReached: (position) => list.hasReached(position) && thread.hasSuppressed(position) };
}
