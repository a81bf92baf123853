// A thread that renders one template at a time, and is ended when it takes too long or too much memory.

import { Worker } from 'node:worker_threads';
import { templateLimits } from './limits.ts';
import type { WorkerAnswer, WorkerJob } from './worker-messages.ts';

/** The thread is of no more use. `time` and `memory`: the template that it was rendering did it. */
export class ThreadLostError extends Error {
  readonly reason: 'start' | 'time' | 'memory' | 'crash' | 'ended';

  constructor(reason: ThreadLostError['reason'], cause?: Error) {
    super(`the template worker was lost: ${reason}`, { cause });
    this.name = 'ThreadLostError';
    this.reason = reason;
  }
}

export interface RenderThread {
  /** Loaded. @throws ThreadLostError */
  readonly started: Promise<unknown>;
  /** One at a time. @throws ThreadLostError; DataCloneError when the data can't be copied into the thread (which then goes on) */
  run(job: WorkerJob): Promise<WorkerAnswer>;
  readonly isLost: boolean;
  end(): Promise<void>;
}

export function startRenderThread(workerUrl: URL): RenderThread {
  // No environment and no arguments: a template's thread knows nothing of the process.
  const worker = new Worker(workerUrl, {
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: templateLimits.workerHeapMiB, maxYoungGenerationSizeMb: 16 },
  });
  let expected: { resolve(answer: WorkerAnswer): void; reject(error: Error): void } | null = null;
  let lost: ThreadLostError | null = null;

  worker.unref();
  worker.on('message', (answer: WorkerAnswer) => expected?.resolve(answer));
  worker.on('error', (error) => lose(new ThreadLostError(isOutOfMemory(error) ? 'memory' : 'crash', error)));
  worker.on('exit', () => lose(new ThreadLostError('crash')));
  const started = answerWithin(templateLimits.workerStartMsMax, 'start');
  started.catch(() => {});

  function lose(error: ThreadLostError): void {
    lost ??= error;
    expected?.reject(lost);
    void worker.terminate();
  }

  /** The timer keeps the process alive while an answer is due; the thread by itself doesn't. */
  function answerWithin(ms: number, otherwise: ThreadLostError['reason']): Promise<WorkerAnswer> {
    return new Promise<WorkerAnswer>((resolve, reject) => {
      const due = {
        resolve(answer: WorkerAnswer) {
          settled();
          resolve(answer);
        },
        reject(error: Error) {
          settled();
          reject(error);
        },
      };
      // A late timer may come before an answer that has been here for long: what arrived is read first.
      const timer = setTimeout(() => setImmediate(() => expected === due && lose(new ThreadLostError(otherwise))), ms);
      const settled = (): void => {
        clearTimeout(timer);
        expected = null;
      };
      expected = due;
    });
  }

  return {
    started,
    async run(job) {
      await started;
      if (lost !== null) throw lost;
      worker.postMessage(job);
      return answerWithin(templateLimits.renderMsMax, 'time');
    },
    get isLost() {
      return lost !== null;
    },
    async end() {
      lose(new ThreadLostError('ended'));
      await worker.terminate();
    },
  };
}

function isOutOfMemory(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
