// How far a read model is that is folded from the log's beginning: until it has reached the end that the log had then, it holds a part of what it should.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader, ReadModelStore } from '../ports/read-model-store.ts';
import { createReach } from './reach.ts';
import type { ReadModel } from './read-model.ts';

export interface CatchingUp {
  /** Events. */
  readonly done: number;
  readonly total: number;
}

export interface CatchUp {
  /** Notes where the log ends: what comes later is ordinary lag. Never rejects; where log or store are away the end is that of the first look that succeeds. */
  begin(): Promise<void>;
  /** Null once it has caught up, with its indexes; ordinary lag is none. Rejects when log or store are away. */
  progress(): Promise<CatchingUp | null>;
}

export function createCatchUp(of: {
  readonly log: Pick<EventLog, 'ends' | 'read' | 'partitioning'>;
  readonly reader: Pick<ReadModelReader, 'positions' | 'hasCaughtUp' | 'isIndexed'>;
  readonly readModel: ReadModel;
}): CatchUp {
  const { log, reader, readModel } = of;
  const { definition, topics } = readModel;
  const reach = createReach(of);
  /** By topic and number: where the log ended when it was first seen that there is something to catch up with, at the beginning if that was said. */
  let target: ReadonlyMap<Topic, readonly number[]> | null = null;

  const targetNow = async () =>
    new Map(await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const)));

  const doneOf = async (partition: number, ends: ReadonlyMap<Topic, readonly number[]>): Promise<number> => {
    const offsets = await reader.positions(definition.name, partition);
    let done = 0;
    for (const [topic, byNumber] of ends) {
      const end = byNumber[partition] ?? 0;
      done += Math.min(await reach.reached({ topic, partition }, offsets.get(topic) ?? 0, end), end);
    }
    return done;
  };

  /** Null: it has caught up. */
  const targetOf = async () => {
    const isOver = await reader.hasCaughtUp(definition.name);
    return (target = isOver ? null : (target ?? (await targetNow())));
  };

  return {
    async begin() {
      await targetOf().catch(() => null);
    },
    async progress() {
      const ends = await targetOf();
      if (ends === null) return null;
      let done = 0;
      for (let partition = 0; partition < log.partitioning.partitions; partition++)
        done += await doneOf(partition, ends);
      const total = [...ends.values()].flat().reduce((sum, end) => sum + end, 0);
      return done >= total && (await reader.isIndexed(definition.name)) ? null : { done, total };
    },
  };
}

const lookEveryMs = 500;
/** Where making indexes failed: it may take a while each time. */
const againAfterMs = 5_000;

/** Notes in the store that the read model has caught up, once it has. Never rejects; ends with the signal, after a last look. */
export async function noteWhenCaughtUp(of: {
  readonly log: Pick<EventLog, 'ends' | 'read' | 'partitioning'>;
  readonly store: Pick<ReadModelStore, 'positions' | 'hasCaughtUp' | 'isIndexed' | 'noteCaughtUp'>;
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { log, store, readModel, clock, logger, signal } = of;
  const catchUp = createCatchUp({ log, reader: store, readModel });
  for (;;) {
    const isLast = signal.aborted;
    let restMs = lookEveryMs;
    try {
      const progress = await catchUp.progress();
      if (progress === null || progress.done >= progress.total) {
        restMs = againAfterMs;
        return await store.noteCaughtUp(readModel.definition.name, signal);
      }
    } catch (err) {
      // That log or store are away others tell; what is folded and can't be made whole (a full disk, when its indexes are made) nobody else does.
      if (restMs === againAfterMs)
        logger.warn('a read model that is folded is not whole yet: tried again', {
          readModel: readModel.definition.name,
          err,
        });
    }
    if (isLast) return;
    await clock.sleep(restMs, signal);
  }
}
