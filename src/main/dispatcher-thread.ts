// The thread of the dispatchers, where they have one, as the main thread sees it.

import type { DeliveryStores, SharedStores } from '../adapters/node/delivery-port.ts';
import { hostStores } from '../adapters/node/delivery-port.ts';
import type { UpOrWhy } from '../api/operations.ts';
import type { Activity } from '../dispatchers/dispatcher.ts';
import type { Channel } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Position } from '../ports/event-log.ts';
import type { Config } from './config.ts';
import type { Dispatching } from './dispatchers.ts';
import type { ServiceThread } from './service-thread.ts';
import { startThread } from './service-thread.ts';
import type { DispatcherEngines } from './thread-engines.ts';

export interface DispatcherThreadInput extends Dispatching {
  readonly config: Config;
  readonly engines: DispatcherEngines;
  readonly stores: SharedStores;
  /** Where the main thread has no use for the suppression lists. */
  readonly measuresSuppressions: boolean;
}

/** What it says of itself. */
export type DispatchersTold =
  | { readonly kind: 'state'; readonly state: DispatchersState }
  /** Its suppression lists have what the log has up to there. */
  | { readonly kind: 'suppressions'; readonly position: Position };

export interface DispatchersState {
  readonly activities: readonly (readonly [Channel, readonly Activity[]])[];
  /** Whether its appends are taken, where it has a connection of its own for them. */
  readonly log: UpOrWhy;
}

export interface DispatcherThread extends ServiceThread {
  /** As it was within the last second; of a thread that hangs nothing is under way. */
  activity(channel: Channel): readonly Activity[];
  logIsUp(): UpOrWhy;
  /** Whether its suppression lists have what the log has up to there; of what was appended since it started. */
  hasSuppressed(position: Position): boolean;
  /** Before anything that is accepted from now on is sent. */
  forget(tenantId: TenantId): void;
}

/** What is in flight is waited for for 30 s (dispatchers/dispatcher.ts); then positions are committed and what the log has taken is answered. */
const stopWithinMs = 35_000;
/** It is heard every second. Who is silent for longer ends no attempt by its deadline: without this, what it said to be under way would excuse it for ever. */
const silentMaxMs = 10_000;

/** Resolves when it delivers. */
export async function startDispatcherThread(
  input: Omit<DispatcherThreadInput, 'stores'>,
  stores: DeliveryStores,
  signal: AbortSignal,
): Promise<DispatcherThread> {
  let state: DispatchersState = { activities: [], log: true };
  /** By partition: the offset behind the last event of the settings' topic that its lists have. */
  const suppressed = new Map<number, number>();
  const host = hostStores(stores);
  const { port } = host.shared;
  const thread = await startThread<DispatchersTold>({
    name: 'dispatchers',
    entry: new URL('./dispatcher-worker.ts', import.meta.url),
    input: { ...input, stores: host.shared } satisfies DispatcherThreadInput,
    transfers: input.engines.kind === 'embedded' ? [port, input.engines.log.port] : [port],
    engines: input.engines.kind,
    stopWithinMs,
    signal,
    hear(told) {
      if (told.kind === 'state') state = told.state;
      else suppressed.set(told.position.partition, told.position.offset + 1);
    },
  });
  return {
    ...thread,
    activity(channel) {
      const told = state.activities.find(([of]) => of === channel)?.[1] ?? [];
      return thread.silentMs() < silentMaxMs ? told : told.map((one) => ({ ...one, isUnderWay: false }));
    },
    logIsUp: () => state.log,
    hasSuppressed: ({ partition, offset }) => (suppressed.get(partition) ?? 0) > offset,
    forget: host.forget,
    async stop() {
      await thread.stop();
      host.close();
    },
  };
}
