// The tail of a connected thread: reads what was appended since it began to listen.

import type { Topic } from '../../../domain/topics.ts';
import type { LogEntry } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import type { Catalog } from './catalog.ts';
import type { Ends } from './ends.ts';
import { turn } from './reader.ts';
import type { Rows } from './rows.ts';
import type { Sleeper, Wakeups } from './wakeups.ts';

export interface FollowDependencies {
  readonly catalog: Catalog;
  readonly rows: Rows;
  readonly ends: Ends;
  readonly wakeups: Wakeups;
  readonly logger: Logger;
}

const pageRows = 64;
/** Before another try, when an event couldn't be read. */
const retryMs = 1000;

/** Returns the call that ends it. */
export function followTail(
  { catalog, rows, ends, wakeups, logger }: FollowDependencies,
  topics: readonly Topic[],
  listener: (entry: LogEntry) => void,
): () => void {
  const numbers = Array.from({ length: catalog.partitioning.partitions }, (_, partition) => partition);
  const slots = topics.flatMap((topic) => numbers.map((partition) => catalog.slotOf(topic, partition)));
  const next = new Map(slots.map((slot) => [slot, ends.get(slot)]));
  const page = rows.page();
  const ending = new AbortController();
  const { signal } = ending;
  let wake = () => {};

  const tellPage = (slot: number, from: number, to: number) => {
    for (const row of page(slot, from, to, pageRows)) {
      listener(rows.entry(slot, row));
      next.set(slot, row[0] + 1);
    }
  };

  const tellAll = async () => {
    for (const slot of slots) {
      const end = ends.get(slot);
      for (let from = next.get(slot) ?? 0; from < end && !signal.aborted; from = next.get(slot) ?? end) {
        tellPage(slot, from, end);
        await turn();
      }
    }
  };

  const sleep = () =>
    new Promise<void>((resolve) => {
      const sleeper: Sleeper = { slots, wake: resolve };
      wake = () => {
        wakeups.remove(sleeper);
        resolve();
      };
      wakeups.add(sleeper);
      if (signal.aborted || slots.some((slot) => ends.get(slot) > (next.get(slot) ?? 0))) wake();
    });

  const follow = async () => {
    while (!signal.aborted) {
      try {
        await tellAll();
        await sleep();
      } catch (error) {
        logger.error('the end of the event log could not be read', { err: error });
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
  };

  void follow();
  return () => {
    ending.abort();
    wake();
  };
}
