// A thread that renders one template at a time, and is ended when it takes too long or too much memory.

import { Worker } from 'node:worker_threads';

import { type Patience, templateLimits } from './limits.ts';
import type { WorkerAnswer, WorkerJob } from './worker-messages.ts';

/** The thread is of no more use. `time` and `memory`: the template that it was rendering did it. `late`: it had no processor to render on. */
export class ThreadLostError extends Error {
  readonly reason: 'start' | 'time' | 'late' | 'memory' | 'crash' | 'ended';

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

export function startRenderThread(workerUrl: URL, { workerStartMsMax, renderMsMax }: Patience): RenderThread {
  // No environment and no arguments: a template's thread knows nothing of the process.
  const worker = new Worker(workerUrl, {
    env: {},
    argv: [],
    execArgv: [],
    name: 'templates',
    resourceLimits: { maxOldGenerationSizeMb: templateLimits.workerHeapMiB, maxYoungGenerationSizeMb: 16 },
  });
  let expected: { resolve(answer: WorkerAnswer): void; reject(error: Error): void } | null = null;
  let lost: ThreadLostError | null = null;

  worker.unref();
  worker.on('message', (answer: WorkerAnswer) => expected?.resolve(answer));
  worker.on('error', (error) => lose(new ThreadLostError(isOutOfMemory(error) ? 'memory' : 'crash', error)));
  worker.on('exit', () => lose(new ThreadLostError('crash')));
  const { renderCpuMsMax } = templateLimits;
  const started = answerWithin(workerStartMsMax, () => Promise.resolve(endBy('start')));
  started.catch(() => {});

  function lose(error: ThreadLostError): void {
    lost ??= error;
    expected?.reject(lost);
    void worker.terminate();
  }

  /** The timer keeps the process alive while an answer is due; the thread by itself doesn't. */
  function answerWithin(ms: number, judge: () => Promise<Judgement>): Promise<WorkerAnswer> {
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
      let timer = setTimeout(() => void look(), ms);
      const look = async (): Promise<void> => {
        const judgement = await judge();
        // A late timer may come before an answer that has been here for long: what arrived is read first.
        await new Promise((read) => setImmediate(read));
        if (expected !== due) return;
        if (judgement.kind === 'end') lose(new ThreadLostError(judgement.reason));
        else timer = setTimeout(() => void look(), judgement.ms);
      };
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
      const startedAt = performance.now();
      // Not waited for: asked before the job is there, answered before or while it is rendered.
      const before = usageOf(worker);
      worker.postMessage(job);
      return answerWithin(renderCpuMsMax, async () => {
        const used = await usedSince(worker, await before);
        if (used >= renderCpuMsMax) return endBy('time');
        if (performance.now() - startedAt >= renderMsMax) return endBy('late');
        return { kind: 'wait', ms: renderCpuMsMax - used };
      });
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

/** A template is judged by the processor time that it took: on a busy machine the clock says nothing of it. */
type Judgement =
  | { readonly kind: 'end'; readonly reason: ThreadLostError['reason'] }
  | { readonly kind: 'wait'; readonly ms: number };

function endBy(reason: ThreadLostError['reason']): Judgement {
  return { kind: 'end', reason };
}

/** ms of processor time; 0 when it isn't known: then the clock decides alone. */
async function usedSince(worker: Worker, before: NodeJS.CpuUsage | null): Promise<number> {
  const now = await usageOf(worker);
  return now === null || before === null ? 0 : (now.user - before.user + now.system - before.system) / 1000;
}

/** null: the thread doesn't run any more, or this Node (before 24.6) can't say. */
async function usageOf(worker: Worker): Promise<NodeJS.CpuUsage | null> {
  try {
    return await worker.cpuUsage();
  } catch {
    return null;
  }
}

function isOutOfMemory(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
