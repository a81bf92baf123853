// The engines behind the ports, of either set, and which set the settings ask for.

import type { Codec } from '../codec/index.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogIdentity } from '../ports/event-log.ts';
import type { ErasedBytes } from '../ports/erased-bytes.ts';
import type { IdempotencyStore } from '../ports/idempotency-store.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { ReadModelReader, ReadModelStore } from '../ports/read-model-store.ts';
import type { RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { Config } from './config.ts';
import { isCluster } from './config.ts';
import type { Health } from './health.ts';
import type { DispatcherEngines, ThreadEngines } from './thread-engines.ts';

/** A log and settings that are for one another, and where a person finds them. */
export interface Tie {
  readonly identity: LogIdentity;
  readonly log: string;
  readonly settings: string;
}

export interface TiedStores {
  readonly tie: Tie;
  readonly settings: SettingsStore;
  close(): Promise<void>;
}

export interface Engines {
  readonly log: EventLog;
  readonly settings: SettingsStore;
  readonly tie: Tie;
  readonly limiter: RateLimiter;
  /** Once log and settings are known to be for one another. */
  openIdempotency(): Promise<IdempotencyStore>;
  /** Then as well. */
  openJobs(): Promise<JobStore>;
  /** A reader of the read models, whose collections exist then; and what the projectors' thread opens its own engines from. */
  openViews(hasThread: boolean): Promise<Views>;
  /** null: what is erased stays in the log's bytes until its retention ends them. */
  readonly erasedBytes: ErasedBytes | null;
  /** Why the log's engine would lose what it takes, by settings of its own, as a sentence; null: it wouldn't, as far as is known. */
  losing(): string | null;
  /** What the dispatchers' thread opens its own from, where there is one. */
  forDispatchers(): DispatcherEngines;
  close(): Promise<void>;
}

export interface Views {
  readonly reader: ReadModelReader & { close(): void | Promise<void> };
  /** What is wrong with the file that they are in, as a sentence; null: nothing that is known. */
  damage(): string | null;
  /** null where there is no such thread. */
  readonly thread: ThreadEngines | null;
}

/** What a rebuild and other work on the whole log needs, nothing else. */
export interface LogAndViews {
  readonly log: EventLog;
  readonly store: ReadModelStore & RebuildableStore;
  close(): Promise<void>;
}

/** The log, and the read models to ask. */
export interface LogBesideViews {
  readonly log: EventLog;
  readonly reader: ReadModelReader;
  close(): Promise<void>;
}

/** The log alone, of a service that may be running: to read, in no group, without a write. */
export interface LogBeside extends Pick<EventLog, 'partitioning' | 'read' | 'ends' | 'offsetAt'> {
  /** Made with the log, for good. */
  readonly id: string;
  close(): Promise<void>;
}

/** The log, and the read models with their next versions, of a service that may be running: for whoever asks it for a rebuild or watches one. */
export interface RebuildBeside {
  readonly log: LogBeside;
  readonly store: ReadModelStore & RebuildableStore;
  close(): Promise<void>;
}

/** The settings alone, of a service that may be running. */
export interface OpenSettings {
  readonly settings: SettingsStore;
  close(): Promise<void>;
}

export interface EngineDependencies {
  readonly config: Config;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Aborts when the process is told to stop: waiting for an engine ends. */
  readonly signal: AbortSignal;
}

export interface ServingDependencies extends EngineDependencies {
  /** Told of each engine once it is open. */
  readonly health: Health;
  readonly turns: ThreadTurns;
}

/** Each set is loaded when it is asked for: the embedded one costs nothing of the other. */
export async function openEngines(deps: ServingDependencies): Promise<Engines> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterEngines({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedEngines(deps);
}

/** Log and settings, whether they are for one another or not. @throws StartError while an embedded service runs */
export async function openTied(deps: EngineDependencies): Promise<TiedStores> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterTied({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedTied(deps);
}

/** @throws StartError while the service projects */
export async function openLogAndViews(deps: EngineDependencies): Promise<LogAndViews> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterLogAndViews({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedLogAndViews(deps);
}

/** Log and read models of a service that may be running, where its engines allow it. @throws StartError while an embedded one runs */
export async function openLogBesideViews(deps: EngineDependencies): Promise<LogBesideViews> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterLogBesideViews({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedLogBesideViews(deps);
}

/** @throws StartError when there is none */
export async function openLogBeside(
  deps: Pick<EngineDependencies, 'config' | 'codec' | 'clock' | 'logger'>,
): Promise<LogBeside> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterLogBeside({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedLogBeside(deps);
}

/** @throws StartError when there are none */
export async function openSettings(
  deps: Pick<EngineDependencies, 'config' | 'clock' | 'logger' | 'signal'>,
): Promise<OpenSettings> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterSettings({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedSettings(config);
}

/** Whether a process folds the read models now, and so rebuilds them when it is asked to. */
export async function areFolded(deps: EngineDependencies): Promise<boolean> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).areFoldedInCluster({ ...deps, config });
  return (await import('./embedded-engines.ts')).isDataDirHeld(config);
}

/** @throws StartError when there is no log */
export async function openRebuildBeside(deps: EngineDependencies): Promise<RebuildBeside> {
  const { config } = deps;
  if (isCluster(config)) return (await import('./cluster-engines.ts')).openClusterRebuildBeside({ ...deps, config });
  return (await import('./embedded-engines.ts')).openEmbeddedRebuildBeside(deps);
}
