// The thread that makes events of batches' items, beside a test.

import { defaultPartitioning } from '../../src/domain/topics.ts';
import type { ItemsThread } from '../../src/main/items-thread.ts';
import { startItemsThread } from '../../src/main/items-thread.ts';
import type { Logger } from '../../src/ports/logger.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Lets receivers on this machine through. */
export function startItems(): Promise<ItemsThread> {
  const input = { partitioning: defaultPartitioning, outboundAllow: ['127.0.0.1/32'] };
  return startItemsThread(input, silent, new AbortController().signal);
}
