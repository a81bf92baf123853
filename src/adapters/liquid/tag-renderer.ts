// Templates with tags: they wait for the one render thread, which is started on first use and replaced when it is lost.
// Only the template that was running is lost with its thread; those that wait go on in the next one.

import { assertNever } from '../../domain/assert-never.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Logger } from '../../ports/logger.ts';
import { createFairQueue } from './fair-queue.ts';
import { templateLimits } from './limits.ts';
import { createRefusedSources } from './refused-sources.ts';
import { type RenderThread, startRenderThread, ThreadLostError } from './render-thread.ts';
import { nowhere, TemplateError } from './template-error.ts';
import type { WorkerAnswer, WorkerJob } from './worker-messages.ts';

export interface TagRenderer {
  /** @throws TemplateError; DomainError SERVICE_UNAVAILABLE when the queue is full or the wait too long */
  render(job: WorkerJob): Promise<string>;
  close(): Promise<void>;
}

interface Waiting {
  readonly job: WorkerJob;
  readonly queuedAt: number;
  resolve(text: string): void;
  reject(error: unknown): void;
}

export function createTagRenderer({
  logger,
  workerUrl,
}: {
  readonly logger: Logger;
  readonly workerUrl: URL;
}): TagRenderer {
  const { queueMax, queuePerSourceMax, refusedMax } = templateLimits;
  const queue = createFairQueue<Waiting>({ jobsMax: queueMax, jobsPerSourceMax: queuePerSourceMax });
  const refused = createRefusedSources({ sourcesMax: refusedMax });
  let thread: RenderThread | null = null;
  let working = false;
  let closed = false;

  async function workOff(): Promise<void> {
    if (working) return;
    working = true;
    for (let next = queue.take(); next !== undefined; next = queue.take()) {
      if (closed) next.reject(stopping());
      else if (performance.now() - next.queuedAt > templateLimits.queueMsMax) next.reject(busy());
      else await answer(next);
    }
    working = false;
  }

  async function answer({ job, resolve, reject }: Waiting): Promise<void> {
    if (thread === null || thread.isLost) thread = startRenderThread(workerUrl);
    try {
      resolve(rendered(job, await thread.run(job)));
    } catch (error) {
      reject(error instanceof ThreadLostError ? afterLoss(job, error) : error);
    }
  }

  /** @throws TemplateError */
  function rendered(job: WorkerJob, answer: WorkerAnswer): string {
    if (answer.kind === 'rendered') return answer.text;
    if (answer.kind === 'ready') throw new Error('the template worker answered out of turn');
    const { kind, message, line, column } = answer.error;
    if (kind === 'limit') refuse(job, message);
    throw new TemplateError(kind, message, { line, column });
  }

  function afterLoss(job: WorkerJob, error: ThreadLostError): Error {
    switch (error.reason) {
      case 'time':
        return refuse(job, 'takes too long to render');
      case 'memory':
        return refuse(job, 'takes too much memory to render');
      case 'ended':
        return stopping();
      case 'start':
      case 'crash':
        logger.error('the template worker failed', { err: error });
        return unavailable('Templates with tags can not be rendered now.');
      default:
        return assertNever(error.reason);
    }
  }

  function refuse({ source }: WorkerJob, reason: string): TemplateError {
    const sourceHash = refused.add(source, reason);
    logger.warn('a template broke a limit and is refused from now on', { sourceHash, reason });
    return new TemplateError('limit', reason, nowhere);
  }

  return {
    render(job) {
      return new Promise<string>((resolve, reject) => {
        const reason = refused.reasonOf(job.source);
        if (reason !== null)
          return reject(new TemplateError('limit', `${reason}; it is refused until it is changed`, nowhere));
        if (closed) return reject(stopping());
        if (!queue.push(job.source, { job, queuedAt: performance.now(), resolve, reject })) return reject(busy());
        void workOff();
      });
    },
    async close() {
      closed = true;
      await thread?.end();
    },
  };
}

function busy(): Error {
  return unavailable('Too many templates with tags are waiting to be rendered.');
}

function stopping(): Error {
  return unavailable('The service is stopping.');
}
