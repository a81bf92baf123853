// Templates with tags, and what costs too much for the caller's thread: they wait for a render thread, which is started on first use and replaced when it is lost; a second one is started
// when a slow template holds up others, and stays. Only the template that was running is lost with its thread; those that wait go on in the next one.

import { assertNever } from '../../domain/assert-never.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Logger } from '../../ports/logger.ts';
import { createFairQueue } from './fair-queue.ts';
import { type Patience, templateLimits, tooLong, tooMuchMemory } from './limits.ts';
import { createRefusedRenderings } from './refused-renderings.ts';
import { type RenderThread, startRenderThread, ThreadLostError } from './render-thread.ts';
import { nowhere, TemplateError } from './template-error.ts';
import type { WorkerAnswer, WorkerJob } from './worker-messages.ts';

export interface TagRenderer {
  /** Names that were missing are added to the job's own. @throws TemplateError; DomainError SERVICE_UNAVAILABLE when the queue is full or the wait too long */
  render(job: WorkerJob, owner: string): Promise<string>;
  close(): Promise<void>;
}

interface Waiting {
  readonly owner: string;
  readonly job: WorkerJob;
  readonly queuedAt: number;
  resolve(text: string): void;
  reject(error: unknown): void;
}

/** A place for a thread: whoever works it off goes on until nobody waits. */
interface Seat {
  thread: RenderThread | null;
  isWorking: boolean;
}

export function createTagRenderer({
  logger,
  workerUrl,
  patience,
}: {
  readonly logger: Logger;
  readonly workerUrl: URL;
  readonly patience: Patience;
}): TagRenderer {
  const { queueMax, queuePerOwnerMax, refusedSourcesMax, refusedDataMax, threadsMax, heldUpMs } = templateLimits;
  const queue = createFairQueue<Waiting>({ jobsMax: queueMax, jobsPerOwnerMax: queuePerOwnerMax });
  const refused = createRefusedRenderings({ sourcesMax: refusedSourcesMax, dataMax: refusedDataMax });
  const seats: Seat[] = [{ thread: null, isWorking: false }];
  let closed = false;

  async function workOff(seat: Seat): Promise<void> {
    seat.isWorking = true;
    for (let next = queue.take(); next !== undefined; next = queue.take()) {
      if (closed) next.reject(stopping());
      else if (performance.now() - next.queuedAt > patience.queueMsMax) next.reject(busy());
      else await answer(seat, next);
    }
    seat.isWorking = false;
  }

  async function answer(seat: Seat, waiting: Waiting): Promise<void> {
    const { job, resolve, reject } = waiting;
    let heldUp: NodeJS.Timeout | undefined;
    try {
      // It may have been refused while it waited.
      refused.throwIfRefused(waiting);
      if (seat.thread === null || seat.thread.isLost) seat.thread = startRenderThread(workerUrl, patience);
      await seat.thread.started;
      heldUp = setTimeout(relieve, heldUpMs);
      resolve(rendered(waiting, await seat.thread.run(job)));
    } catch (error) {
      reject(error instanceof ThreadLostError ? afterLoss(waiting, error) : error);
    } finally {
      clearTimeout(heldUp);
    }
  }

  /** One more thread for those who wait behind a slow template. */
  function relieve(): void {
    if (closed || queue.size === 0 || seats.length >= threadsMax) return;
    const seat = { thread: null, isWorking: false };
    seats.push(seat);
    void workOff(seat);
  }

  /** @throws TemplateError */
  function rendered(waiting: Waiting, answer: WorkerAnswer): string {
    if (answer.kind === 'rendered') {
      for (const name of answer.missing) waiting.job.missing?.add(name);
      return answer.text;
    }
    if (answer.kind === 'ready') throw new Error('the template worker answered out of turn');
    const { kind, message, line, column } = answer.error;
    const error = new TemplateError(kind, message, { line, column });
    throw kind === 'limit' ? refuse(waiting, error) : error;
  }

  function afterLoss(waiting: Waiting, error: ThreadLostError): Error {
    switch (error.reason) {
      case 'time':
        return refuse(waiting, new TemplateError('limit', tooLong, nowhere));
      case 'memory':
        return refuse(waiting, new TemplateError('limit', tooMuchMemory, nowhere));
      case 'ended':
        return stopping();
      case 'late':
        logger.warn('a template was not rendered in time for want of a processor');
        return unavailable('Templates can not be rendered in time now.');
      case 'start':
      case 'crash':
        logger.error('the template worker failed', { err: error });
        return unavailable('Templates with tags can not be rendered now.');
      default:
        return assertNever(error.reason);
    }
  }

  function refuse(waiting: Waiting, error: TemplateError): TemplateError {
    const sourceHash = refused.add(waiting, error);
    logger.warn('a template broke a limit and is not rendered with these data again', {
      sourceHash,
      reason: error.message,
    });
    return error;
  }

  return {
    async render(job, owner) {
      refused.throwIfRefused({ owner, job });
      if (closed) throw stopping();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      if (!queue.push(owner, { owner, job, queuedAt: performance.now(), resolve, reject })) throw busy();
      const idles = seats.filter((seat) => !seat.isWorking);
      const idle = idles.find(({ thread }) => thread?.isLost === false) ?? idles[0];
      if (idle !== undefined) void workOff(idle);
      return promise;
    },
    async close() {
      closed = true;
      await Promise.all(seats.flatMap(({ thread }) => (thread === null ? [] : [thread.end()])));
    },
  };
}

function busy(): Error {
  return unavailable('Too many templates with tags are waiting to be rendered.');
}

function stopping(): Error {
  return unavailable('The service is stopping.');
}
