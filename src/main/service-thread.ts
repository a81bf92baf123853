// A thread of the service as the main thread sees it: told to stop, asked for what it has counted, heard when it says something of itself.

import type { Transferable } from 'node:worker_threads';
import { Worker } from 'node:worker_threads';

import type { MetricsSnapshot } from '../adapters/node/metrics.ts';
import { assertNever } from '../domain/assert-never.ts';

export type ToThread = { readonly kind: 'stop' } | { readonly kind: 'metrics'; readonly id: number };
/** `Told` is plain data: what this thread says of itself, unasked. */
export type FromThread<Told> =
  | { readonly kind: 'started' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'metrics'; readonly id: number; readonly snapshot: MetricsSnapshot }
  /** Its event loop turns; about once a second. */
  | { readonly kind: 'beat' }
  | { readonly kind: 'told'; readonly told: Told };

export interface ServiceThread {
  /** Resolves, never rejects, with the reason when the thread ended by itself, or what it does had to. */
  readonly failed: Promise<Error>;
  /** What it has counted: of one that doesn't answer within a second, as it was told last, since a counter that falls and comes back reads as if all of it were new. */
  metrics(): Promise<readonly MetricsSnapshot[]>;
  /** Since it was heard last. What hangs is silent, whatever it said before. */
  silentMs(): number;
  /** Finishes what it has in hand. */
  stop(): Promise<void>;
  /** Ends it as it is: what hangs. */
  terminate(): void;
}

export interface ThreadOptions<Told> {
  /** Of its thread, as systems and metrics show it. */
  readonly name: keyof typeof youngGenerationMb;
  readonly entry: URL;
  /** Plain data, and what is transferred with it. */
  readonly input: unknown;
  readonly transfers: readonly unknown[];
  readonly engines: 'embedded' | 'cluster';
  readonly stopWithinMs: number;
  /** Aborts when the process is told to stop: a thread that isn't started by then is ended. */
  readonly signal: AbortSignal;
  hear(told: Told): void;
}

/**
 * Three times what is filled until it is collected. 8 MiB, as the main thread has them, where what is made lives for a while: it waits for a receiver, a broker
 * or MongoDB, or, with the embedded projectors, for the beat in which all numbers commit together. With 2 there each batch outlived its collections: of 20,000
 * webhooks they took 1.8 s and V8's helpers 3.3, with 8 it is 1.0 and 2.1, some 5 % of all that a webhook takes of the processors, for 12 MiB. 2 for items, of
 * which nothing lives longer than the piece that they are in.
 */
const youngGenerationMb = {
  projectors: { embedded: 3 * 8, cluster: 3 * 8 },
  dispatchers: { embedded: 3 * 8, cluster: 3 * 8 },
  items: { embedded: 3 * 2, cluster: 3 * 2 },
} as const;
const metricsWithinMs = 1000;

/** Resolves when it has started. */
export async function startThread<Told>(options: ThreadOptions<Told>): Promise<ServiceThread> {
  const { name, entry, input, transfers, engines, stopWithinMs, signal, hear } = options;
  // Whoever was told to stop before begins none: no event would come of it.
  signal.throwIfAborted();
  const worker = new Worker(entry, {
    workerData: input,
    transferList: transfers as readonly Transferable[] as Transferable[],
    name,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb[name][engines] },
  });
  const failure = Promise.withResolvers<Error>();
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const asked = new Map<number, () => void>();
  let lastTold: readonly MetricsSnapshot[] = [];
  let lastId = 0;
  let heardAt = performance.now();
  worker.on('message', (message: FromThread<Told>) => {
    heardAt = performance.now();
    switch (message.kind) {
      case 'started':
        return started.resolve();
      case 'stopped':
        return stopped.resolve();
      case 'failed':
        return failure.resolve(message.error);
      case 'metrics':
        lastTold = [message.snapshot];
        return asked.get(message.id)?.();
      case 'told':
        return hear(message.told);
      case 'beat':
        return;
      default:
        return assertNever(message);
    }
  });
  worker.on('error', (error) => failure.resolve(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    stopped.resolve();
    failure.resolve(new Error(`the thread of the ${name} ended`));
  });
  const tell = (message: ToThread) => worker.postMessage(message);

  const giveUp = () => void worker.terminate();
  signal.addEventListener('abort', giveUp);
  await Promise.race([started.promise, failure.promise.then((error) => Promise.reject(error))]);
  signal.removeEventListener('abort', giveUp);
  return {
    failed: failure.promise,
    silentMs: () => performance.now() - heardAt,
    metrics: () =>
      new Promise((resolve) => {
        const id = ++lastId;
        const done = () => {
          clearTimeout(timer);
          asked.delete(id);
          resolve(lastTold);
        };
        const timer = setTimeout(done, metricsWithinMs);
        asked.set(id, done);
        tell({ kind: 'metrics', id });
      }),
    terminate: () => void worker.terminate(),
    async stop() {
      tell({ kind: 'stop' });
      const timer = setTimeout(() => stopped.resolve(), stopWithinMs);
      await stopped.promise;
      clearTimeout(timer);
      await worker.terminate();
    },
  };
}
