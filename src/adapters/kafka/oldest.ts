// Which record of several partitions comes next: the oldest by the log's times; and what speaks of the others behind what they held of before it.

import { cameAfter } from '../../ports/after-others.ts';
import type { EventHead } from '../../ports/event-log.ts';
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

export interface OldestOf<L extends Line> {
  readonly sources: readonly L[];
  /** It speaks of the others. */
  isLast(source: L): boolean;
  /** What the record begins with; null: that can't be read, or not yet. */
  headOf(head: Head<L>): EventHead | null;
}

/** Answers null where there is none, or where it has to wait for what isn't here of the others. */
export function createOldest<L extends Line>({ sources, isLast, headOf }: OldestOf<L>): () => Head<L> | null {
  const others = sources.filter((source) => !isLast(source));
  /** Of each source that speaks of the others: its head, and where the others ended when that was met. */
  const met = new Map<L, { readonly offset: number; readonly ends: Map<L, number> }>();

  const endsWhenMet = ({ source, record: { offset } }: Head<L>): Map<L, number> => {
    const known = met.get(source);
    const ends = known?.offset === offset ? known.ends : new Map<L, number>();
    met.set(source, { offset, ends });
    for (const other of others) if (!ends.has(other) && other.end < Infinity) ends.set(other, other.end);
    return ends;
  };

  const isAfter = (other: L, speaking: Head<L>): boolean => {
    const record = other.queue.head;
    if (record === undefined || record.appendedAt <= speaking.record.appendedAt) return false;
    const head = headOf({ source: other, record });
    return cameAfter({ ...record, head }, { ...speaking.record, head: headOf(speaking) });
  };

  return () => {
    const found = oldestOf(sources);
    if (found === null || !isLast(found.source)) return found;
    // Where the others ended then is far behind it for whoever reads the log from its beginning, so what came after it beyond doubt is told by the next of each.
    const ends = endsWhenMet(found);
    const before = others.filter(
      (other) => positionOf(other) < (ends.get(other) ?? Infinity) && !isAfter(other, found),
    );
    if (before.length === 0) return found;
    // Of those that aren't here the others don't wait any longer.
    return oldestOf(before) ?? oldestOf(others);
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
