// The thread that makes events of batches' items, where a process has one, as the main thread sees it.

import { availableParallelism } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';

import type { Partitioning } from '../domain/topics.ts';
import type { ItemMaker, ItemsOf, MadeItems } from '../ports/item-maker.ts';
import type { Logger } from '../ports/logger.ts';
import type { Config, Role } from './config.ts';
import { hasDispatcherThread } from './delivering.ts';
import type { ServiceThread } from './service-thread.ts';
import { startThread } from './service-thread.ts';

export interface ItemsThreadInput {
  readonly partitioning: Partitioning;
  readonly outboundAllow: readonly string[];
  readonly port: MessagePort;
}

export interface ItemsAsked {
  readonly texts: readonly string[];
  readonly of: ItemsOf;
}

export interface ItemsThread extends ServiceThread {
  readonly itemMaker: ItemMaker;
}

const stopWithinMs = 1000;
/** Of the dearest pieces, 30 ms each, those of eight batches take a second. What hangs is ended, and its process with it. */
const answersWithinMs = 10_000;
const looksMax = 10;

/**
 * Where a core is left for it. Not where the dispatchers are in the main thread: they read what they deliver there, and what another thread has encoded they
 * would have to decode, which takes as long as making it.
 */
export function hasItemsThread(config: Config, roles: ReadonlySet<Role>): boolean {
  if (!roles.has('api')) return false;
  const dispatchersApart = hasDispatcherThread(config, roles);
  if (roles.has('dispatcher') && !dispatchersApart) return false;
  const folds = roles.has('projector') || roles.has('scheduler');
  const others = [true, folds, dispatchersApart].filter(Boolean).length;
  const threads = config.THREADS === 'auto' ? availableParallelism() : config.THREADS;
  return threads > others;
}

/** Resolves when it takes items. */
export async function startItemsThread(
  input: Omit<ItemsThreadInput, 'port'>,
  logger: Logger,
  signal: AbortSignal,
  withinMs = answersWithinMs,
): Promise<ItemsThread> {
  const { port1: port, port2 } = new MessageChannel();
  const thread = await startThread<never>({
    name: 'items',
    entry: new URL('./items-worker.ts', import.meta.url),
    input: { ...input, port: port2 } satisfies ItemsThreadInput,
    transfers: [port2],
    engines: 'embedded',
    stopWithinMs,
    signal,
    hear() {},
  });
  return { ...thread, itemMaker: createItemMaker(port, thread, { logger, withinMs }) };
}

interface Watched {
  readonly logger: Logger;
  /** The next answer. */
  readonly withinMs: number;
}

function createItemMaker(port: MessagePort, thread: ServiceThread, { logger, withinMs }: Watched): ItemMaker {
  /** In the order of the calls, which is that of the answers. */
  const asked: ((made: MadeItems | null) => void)[] = [];
  let isGone = false;
  let looks: NodeJS.Timeout | null = null;
  /** Looks in a row that found it owing the same answer. */
  let inVain = 0;

  const look = (): void => {
    inVain++;
    if (inVain < looksMax) return;
    logger.error("the items' thread does not answer", { withinMs });
    thread.terminate();
  };
  /** Several looks: a process that was stopped, or had no processor, finds its timers over before it reads what has come meanwhile. */
  const watch = (): void => {
    inVain = 0;
    if (asked.length > 0) looks ??= setInterval(look, withinMs / looksMax);
    else if (looks !== null) {
      clearInterval(looks);
      looks = null;
    }
  };

  port.on('message', (made: MadeItems) => {
    asked.shift()?.(made);
    watch();
  });
  // A connection alone is no reason for the process to go on.
  port.unref();
  void thread.failed.then(() => {
    isGone = true;
    for (const answer of asked.splice(0)) answer(null);
    watch();
  });

  return {
    make: (texts, of) =>
      new Promise((resolve) => {
        if (isGone) return resolve(null);
        asked.push(resolve);
        if (asked.length === 1) watch();
        port.postMessage({ texts, of } satisfies ItemsAsked);
      }),
  };
}
