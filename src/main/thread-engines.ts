// The engines of the projectors' and of the dispatchers' thread: what each is told by the main thread, and what it opens from that.

import { createMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { connectEventLog } from '../adapters/sqlite/event-log/connected.ts';
import type { SharedEventLog } from '../adapters/sqlite/event-log/shared.ts';
import type { ChangeSignalEnd } from '../adapters/sqlite/read-models/change-signal.ts';
import { openReadModelStore } from '../adapters/sqlite/read-models/store.ts';
import type { Codec } from '../codec/index.ts';
import type { Clock } from '../ports/clock.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { ReadModelStore } from '../ports/read-model-store.ts';
import type { ClusterConfig } from './config.ts';
import { createDamageWatch } from './damage-watch.ts';

/** Can be posted to a thread, once. */
export type ThreadEngines =
  /** The thread reads log.db by itself, asks the main thread to append, and is the one writer of views.db. */
  | {
      readonly kind: 'embedded';
      readonly log: SharedEventLog;
      readonly changes: ChangeSignalEnd;
      readonly viewsPath: string;
    }
  | { readonly kind: 'cluster'; readonly config: ClusterConfig };

export type DispatcherEngines =
  /** The thread reads log.db by itself and asks the main thread to append. */
  | { readonly kind: 'embedded'; readonly log: SharedEventLog }
  | { readonly kind: 'cluster'; readonly config: ClusterConfig };

interface ThreadDependencies {
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

export interface ProjectorEngines {
  readonly log: EventLog;
  readonly store: ReadModelStore & RebuildableStore & DocumentScan;
  /** Whether another process, or this one, consumes the group. Rejects when the log is away. */
  isFollowed(group: string): Promise<boolean>;
  close(): Promise<void>;
}

export async function openThreadEngines(input: ThreadEngines, deps: ThreadDependencies): Promise<ProjectorEngines> {
  if (input.kind === 'cluster') {
    const { openClusterThreadEngines } = await import('./cluster-engines.ts');
    const engines = await openClusterThreadEngines({ ...deps, config: input.config });
    return { ...engines, isFollowed: async (group) => (await engines.log.activeMembers(group)) > 0 };
  }
  const log = await connectEventLog(input.log, { ...deps, checkpoints: { metrics: deps.metrics } });
  const { viewsPath: path, changes } = input;
  const store = openReadModelStore({ ...deps, path, changes });
  return {
    log,
    store: createDamageWatch({ ...deps, path, file: 'views' }).guarded(store),
    // One process has the folder; what it followed itself it has stopped before it asks.
    isFollowed: async () => false,
    async close() {
      await log.close();
      await store.close();
    },
  };
}

export async function openDispatcherEngines(
  input: DispatcherEngines,
  deps: ThreadDependencies,
): Promise<{ readonly log: EventLog; readonly limiter: RateLimiter; close(): Promise<void> }> {
  if (input.kind === 'cluster') {
    const { openClusterDispatcherEngines } = await import('./cluster-engines.ts');
    return openClusterDispatcherEngines({ ...deps, config: input.config });
  }
  const log = await connectEventLog(input.log, { ...deps, recentMax: null });
  // Nobody but dispatchers takes of what it paces (ports/rate-limiter.ts): windows of their own are exact.
  const limiter = createMemoryRateLimiter();
  return { log, limiter, close: () => log.close() };
}

/** What must be transferred, not copied, to the thread. */
export function transfersOf(input: ThreadEngines) {
  return input.kind === 'embedded' ? [input.log.port, input.changes.port] : [];
}
