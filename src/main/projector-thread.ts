// The thread of the projectors and the scheduler, as the main thread sees it.

import type { Transferable } from 'node:worker_threads';
import { Worker } from 'node:worker_threads';

import type { MetricsSnapshot } from '../adapters/node/metrics.ts';
import { assertNever } from '../domain/assert-never.ts';
import type { FoldState } from '../projections/fold-report.ts';
import type { ThreadEngines } from './thread-engines.ts';
import { transfersOf } from './thread-engines.ts';

export interface ProjectorThreadInput {
  readonly engines: ThreadEngines;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly runsProjectors: boolean;
  readonly runsScheduler: boolean;
}

export type ToThread = { readonly kind: 'stop' } | { readonly kind: 'metrics'; readonly id: number };
export type FromThread =
  | { readonly kind: 'started' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'metrics'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly kind: 'folding'; readonly states: readonly FoldState[] };

export interface ProjectorThread {
  /** Resolves, never rejects, with the reason when the thread ended by itself. */
  readonly failed: Promise<Error>;
  /** What it has counted; none when it doesn't answer within a second. */
  metrics(): Promise<readonly MetricsSnapshot[]>;
  /** What it had in hand, and what failed, when it said so last: within a second. */
  folding(): readonly FoldState[];
  /** Finishes the batches in hand. */
  stop(): Promise<void>;
}

/** The embedded process stays small; beside real engines a third less time goes into collecting garbage. */
const youngGenerationMb = { embedded: 12, cluster: 48 } as const;
const metricsWithinMs = 1000;
const stopWithinMs = 10_000;

/** Resolves when it follows the log. */
export async function startProjectorThread(input: ProjectorThreadInput): Promise<ProjectorThread> {
  const worker = new Worker(new URL('./projector-worker.ts', import.meta.url), {
    workerData: input,
    transferList: transfersOf(input.engines) as readonly Transferable[] as Transferable[],
    name: 'projectors',
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb[input.engines.kind] },
  });
  const failure = Promise.withResolvers<Error>();
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const asked = new Map<number, (snapshot: MetricsSnapshot) => void>();
  let lastId = 0;
  let folding: readonly FoldState[] = [];
  worker.on('message', (message: FromThread) => {
    switch (message.kind) {
      case 'started':
        return started.resolve();
      case 'stopped':
        return stopped.resolve();
      case 'metrics':
        return asked.get(message.id)?.(message.snapshot);
      case 'folding':
        folding = message.states;
        return;
      default:
        return assertNever(message);
    }
  });
  worker.on('error', (error) => failure.resolve(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    stopped.resolve();
    failure.resolve(new Error('the thread of the projectors ended'));
  });
  const tell = (message: ToThread) => worker.postMessage(message);

  await Promise.race([started.promise, failure.promise.then((error) => Promise.reject(error))]);
  return {
    failed: failure.promise,
    folding: () => folding,
    metrics: () =>
      new Promise((resolve) => {
        const id = ++lastId;
        const done = (snapshots: readonly MetricsSnapshot[]) => {
          clearTimeout(timer);
          asked.delete(id);
          resolve(snapshots);
        };
        const timer = setTimeout(() => done([]), metricsWithinMs);
        asked.set(id, (snapshot) => done([snapshot]));
        tell({ kind: 'metrics', id });
      }),
    async stop() {
      tell({ kind: 'stop' });
      const timer = setTimeout(() => stopped.resolve(), stopWithinMs);
      await stopped.promise;
      clearTimeout(timer);
      await worker.terminate();
    },
  };
}
