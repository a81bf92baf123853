// One pass over a partition number's topics that folds them into several read models: each event is read and decoded once.
//
//   topics, side by side ──> entry ──> the batch of each read model that wants it ──full──> fold ──> transact (while the next batch fills)

import type { TenantId } from '../domain/ids.ts';
import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Ownership, ReadModelStore } from '../ports/read-model-store.ts';
import { transactCutting } from './cut-documents.ts';
import { inOrderOfTime } from './in-order-of-time.ts';
import type { Offsets, Range } from './in-order-of-time.ts';
import type { DecodedEntry, ReadModel } from './read-model.ts';
import { foldBytesMax, isDecoded } from './read-model.ts';

/** What folding anew needs of the log. */
export type ReadableLog = Pick<EventLog, 'partitioning' | 'ends' | 'read'>;

/** What a pass does for one read model: folds [from, to) of each topic. */
export interface RangeFold {
  readonly readModel: ReadModel;
  readonly target: ReadModelStore;
  readonly owner: Ownership;
  readonly from: Offsets;
  readonly to: Offsets;
  /** Whose events alone are folded, before their turn: the position stays. Absent: everybody's. */
  readonly isAhead?: (tenantId: TenantId) => boolean;
}

/** How often `onRead` is told, in events. */
const toldEvery = 1000;

/** The owners afterwards, in the order of `folds`: their positions are `to`, also where its last events matter to no fold. */
export async function foldRanges(
  log: ReadableLog,
  partition: number,
  folds: readonly RangeFold[],
  onRead: (events: number) => void,
): Promise<Ownership[]> {
  const batches = folds.map(openBatch);
  let read = 0;
  try {
    for await (const entry of inOrderOfTime(log, partition, rangeOf(folds))) {
      for (const batch of batches) if (batch.add(entry) === 'full') await batch.flush(new Map());
      if (++read % toldEvery === 0) onRead(toldEvery);
    }
    for (const [i, batch] of batches.entries()) await batch.flush(positionAfter(folds[i]));
    return await Promise.all(batches.map((batch) => batch.written()));
  } finally {
    onRead(read % toldEvery);
    await Promise.allSettled(batches.map((batch) => batch.written()));
  }
}

function positionAfter(fold: RangeFold | undefined): Offsets {
  return fold === undefined || fold.isAhead !== undefined ? new Map() : fold.to;
}

/** What all of them together read: from the least to the greatest offset of each topic. */
export function rangeOf(folds: readonly Range[]): Range {
  const from = new Map<Topic, number>();
  const to = new Map<Topic, number>();
  for (const fold of folds) {
    for (const [topic, end] of fold.to) {
      const begin = fold.from.get(topic) ?? 0;
      if (begin >= end) continue;
      from.set(topic, Math.min(from.get(topic) ?? begin, begin));
      to.set(topic, Math.max(to.get(topic) ?? end, end));
    }
  }
  return { from, to };
}

function openBatch({ readModel, target, owner, from, to, isAhead }: RangeFold) {
  const { types } = readModel;
  let entries: DecodedEntry[] = [];
  let bytes = 0;
  /** The batch before. */
  let writing: Promise<Ownership> = Promise.resolve(owner);

  const write = async (current: Ownership, batch: readonly DecodedEntry[], offsets: Offsets) => {
    const writes = await readModel.fold(batch, target);
    // What was cut was said when it was folded first.
    return (await transactCutting({ store: target, readModel, onCut: () => undefined }, current, { offsets }, writes))
      .owner;
  };

  return {
    add(entry: LogEntry): 'full' | 'open' {
      const { topic, offset } = entry;
      const isInRange = offset >= (from.get(topic) ?? 0) && offset < (to.get(topic) ?? 0);
      if (!isInRange || !isDecoded(entry) || types?.has(entry.event.type) === false) return 'open';
      if (isAhead?.(entry.event.tenantId) === false) return 'open';
      entries.push(entry);
      bytes += entry.size;
      return entries.length >= target.pace.eventsMax || bytes >= foldBytesMax ? 'full' : 'open';
    },
    /** Resolves when the batch before is written, which this one builds on: one is in flight at most. */
    async flush(offsets: Offsets): Promise<void> {
      const batch = entries;
      [entries, bytes] = [[], 0];
      writing = write(await writing, batch, offsets);
      // The next flush, or the end of the pass, is told of a failure.
      writing.catch(() => undefined);
    },
    written: () => writing,
  };
}
