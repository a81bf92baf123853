// Which record of several partitions comes next: the oldest by the log's times; and what speaks of the others behind what they held of before it.

import type { Moment } from '../../ports/after-others.ts';
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

/** A record that speaks of the others, as it was met. */
interface Met<L extends Line> {
  readonly offset: number;
  readonly moment: Moment;
  /** Where the others ended. */
  readonly ends: Map<L, number>;
  /** What of each was looked at last, and whether that came after it. */
  readonly seen: Map<L, { readonly offset: number; readonly isAfter: boolean }>;
}

/** Answers null where there is none, or where it has to wait for what isn't here of the others. */
export function createOldest<L extends Line>({ sources, isLast, headOf }: OldestOf<L>): () => Head<L> | null {
  const others = sources.filter((source) => !isLast(source));
  const met = new Map<L, Met<L>>();

  const metAs = (speaking: Head<L>): Met<L> => {
    const { source, record } = speaking;
    const known = met.get(source);
    const now: Met<L> =
      known?.offset === record.offset
        ? known
        : { offset: record.offset, moment: { ...record, head: headOf(speaking) }, ends: new Map(), seen: new Map() };
    met.set(source, now);
    for (const other of others) if (!now.ends.has(other) && other.end < Infinity) now.ends.set(other, other.end);
    return now;
  };

  /** Each record is looked at once: while something waits this is asked with every one that goes before it. */
  const isAfter = (other: L, { moment, seen }: Met<L>): boolean => {
    const record = other.queue.head;
    if (record === undefined || record.appendedAt <= moment.appendedAt) return false;
    const known = seen.get(other);
    if (known?.offset === record.offset) return known.isAfter;
    const isLater = cameAfter({ ...record, head: headOf({ source: other, record }) }, moment);
    seen.set(other, { offset: record.offset, isAfter: isLater });
    return isLater;
  };

  return () => {
    const found = oldestOf(sources);
    if (found === null || !isLast(found.source)) return found;
    // Where the others ended then is far behind it for whoever reads the log from its beginning, so what came after it beyond doubt is told by the next of each.
    const speaking = metAs(found);
    const before = others.filter(
      (other) => positionOf(other) < (speaking.ends.get(other) ?? Infinity) && !isAfter(other, speaking),
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
