// Which record of several partitions comes next: the oldest by the log's times; and what speaks of the others behind what they held when it was met.

import type { StoredRecord } from './record-batch.ts';
import type { RecordQueue } from './record-queue.ts';

export interface Line {
  readonly queue: Pick<RecordQueue, 'head'>;
  /** All below it is in the queue or was handed out. */
  readonly offset: number;
  /** Of the partition; Infinity as long as it isn't known. */
  readonly end: number;
}

export interface Head<L extends Line> {
  readonly source: L;
  readonly record: StoredRecord;
}

/** Answers null where there is none, or where it has to wait for what isn't here of the others. */
export function createOldest<L extends Line>(
  sources: readonly L[],
  isLast: (source: L) => boolean,
): () => Head<L> | null {
  const others = sources.filter((source) => !isLast(source));
  /** Of each source that speaks of the others: its head, and where the others ended when that was met. */
  const met = new Map<L, { readonly offset: number; readonly ends: Map<L, number> }>();

  /** Whether the others were handed out to where they ended then: their times alone don't tell it, a leader's clock may have been ahead. */
  const mayPass = (source: L, { offset }: StoredRecord): boolean => {
    const known = met.get(source);
    const ends = known?.offset === offset ? known.ends : new Map<L, number>();
    met.set(source, { offset, ends });
    return others.every((other) => {
      const end = ends.get(other) ?? other.end;
      if (end < Infinity) ends.set(other, end);
      return positionOf(other) >= end;
    });
  };

  return () => {
    const found = oldestOf(sources);
    if (found === null || !isLast(found.source) || mayPass(found.source, found.record)) return found;
    return oldestOf(others);
  };
}

/** What is to be handed out next. */
export function positionOf({ queue, offset }: Line): number {
  return queue.head?.offset ?? offset;
}

function oldestOf<L extends Line>(sources: readonly L[]): Head<L> | null {
  let found: Head<L> | null = null;
  for (const source of sources) {
    const record = source.queue.head;
    if (record !== undefined && (found === null || record.appendedAt < found.record.appendedAt)) {
      found = { source, record };
    }
  }
  return found;
}
