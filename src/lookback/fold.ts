// Folds read models from the beginning of a log to its end, into a store that has none: one pass over each partition number for all of them.

import type { Claimed, ReadModelStore } from '../ports/read-model-store.ts';
import type { Topic } from '../domain/topics.ts';
import type { ReadModel } from '../projections/read-model.ts';
import { foldRanges, type RangeFold, type ReadableLog } from '../projections/rebuild-pass.ts';

export interface LookBackFold {
  /** Which ends where it is looked back to. */
  readonly log: ReadableLog;
  /** Nobody else writes to it. */
  readonly store: ReadModelStore;
  readonly readModels: readonly ReadModel[];
  /** Events read so far, and how many there are to be read. */
  readonly onProgress: (done: number, total: number) => void;
}

const ofNoClaim: Claimed = { generation: 0 };

/** @throws Error when the log can't be read or the store not be written: what is folded by then is of no use */
export async function foldLookBack({ log, store, readModels, onProgress }: LookBackFold): Promise<void> {
  for (const { definition } of readModels) await store.prepare(definition, 'once filled');
  const topics = [...new Set(readModels.flatMap((readModel) => readModel.topics))];
  const ends = new Map<Topic, readonly number[]>();
  for (const topic of topics) ends.set(topic, await log.ends(topic));
  const total = [...ends.values()].flat().reduce((sum, end) => sum + end, 0);
  let done = 0;
  const onRead = (events: number): void => {
    done += events;
    onProgress(done, total);
  };
  for (let partition = 0; partition < log.partitioning.partitions; partition++) {
    const folds: RangeFold[] = [];
    for (const readModel of readModels) {
      const owner = await store.own(readModel.definition.name, partition, ofNoClaim);
      const to = new Map(readModel.topics.map((topic) => [topic, ends.get(topic)?.[partition] ?? 0]));
      folds.push({ readModel, target: store, owner, from: new Map(), to });
    }
    await foldRanges(log, partition, folds, onRead);
  }
  for (const { definition } of readModels) await store.noteCaughtUp(definition.name);
}
