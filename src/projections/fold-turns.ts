// When a batch of a read model has its turn on a thread that others have too, and how long its number rests after it.

import type { LogEntry } from '../ports/event-log.ts';
import type { FoldPace } from '../ports/read-model-store.ts';
import { restAfter } from './batch-rests.ts';
import type { FoldDependencies } from './partition-fold.ts';
import { takenAt } from './taken-at.ts';

/** How a piece of a batch comes to its turn on the thread. A store elsewhere takes large batches of many numbers side by side. */
export function inTurn(
  deps: FoldDependencies,
  signal: AbortSignal,
  batch: { readonly isLarge: boolean; readonly isHeavy: boolean; readonly first: LogEntry | undefined },
): <T>(fold: () => Promise<T>) => Promise<T> {
  const { turns, readModel, store } = deps;
  if (turns === undefined) return (fold) => fold();
  const waitsForLarge = batch.isLarge && store.pace.inThread;
  return (fold) => {
    if (deps.isBeside?.() === true) return turns.beside(signal, fold);
    const once = waitsForLarge ? () => turns.large(signal, fold, batch) : fold;
    return readModel.mayLag === true && batch.first !== undefined ? turns.lagging(signal, once, batch.first) : once();
  };
}

/** What is filled beside others gives way to this, where it must not lag. Not between two tries: what fails isn't helped by that, and may be what a changed fold mends. */
export async function firstOf<T>(
  { turns, readModel, clock, isBeside }: FoldDependencies,
  [oldest]: readonly LogEntry[],
  fold: () => Promise<T>,
): Promise<T> {
  if (turns === undefined || oldest === undefined || readModel.mayLag === true || isBeside?.() === true) return fold();
  const isOver = turns.begun(takenAt(oldest, clock.now()));
  try {
    return await fold();
  } finally {
    isOver();
  }
}

/** Until when its number rests after a batch. */
export function restOf(
  deps: FoldDependencies,
  { entries, isLarge }: { readonly entries: readonly LogEntry[]; readonly isLarge: boolean },
  pace: FoldPace,
): number {
  const { turns, readModel, clock } = deps;
  const [oldest] = entries;
  const last = entries.at(-1);
  if (readModel.mayLag !== true && deps.isBeside?.() !== true && oldest !== undefined && last !== undefined) {
    const now = clock.now();
    turns?.noted({ entries: entries.length, last, isLarge, waitedMs: now - takenAt(oldest, now) });
    if (!isLarge && turns?.needsNoRest(pace) === true) return -Infinity;
  }
  return restAfter(entries, pace, clock.monotonic());
}
