// How far a read model is that is filled from the log's beginning while queries are answered by another, and when it is at the log's end.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { CatchingUp } from './catching-up.ts';
import { createReach } from './reach.ts';
import type { ReadModel } from './read-model.ts';

export interface FillingPlace {
  readonly log: Pick<EventLog, 'ends' | 'read' | 'partitioning'>;
  /** Of the one that is filled. */
  readonly store: Pick<ReadModelReader, 'positions'>;
  readonly readModel: ReadModel;
}

/** By number: an offset for each topic. */
export type Offsets = readonly ReadonlyMap<Topic, number>[];

export interface FilledPlace {
  /** Where the log ends now. */
  ends(): Promise<Offsets>;
  /** How many of the events below these offsets are folded or passed over, and of how many. */
  reached(offsets: Offsets): Promise<CatchingUp>;
}

/** Every call rejects when log or store are away. */
export function createFilledPlace({ log, store, readModel }: FillingPlace): FilledPlace {
  const { topics, definition } = readModel;
  const reach = createReach({ log, readModel });
  return {
    async ends() {
      const byTopic = await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const));
      return Array.from(
        { length: log.partitioning.partitions },
        (_, partition) => new Map(byTopic.map(([topic, ends]) => [topic, ends[partition] ?? 0])),
      );
    },
    async reached(offsets) {
      let [done, total] = [0, 0];
      for (const [partition, byTopic] of offsets.entries()) {
        const stored = await store.positions(definition.name, partition);
        for (const [topic, end] of byTopic) {
          total += end;
          done += Math.min(await reach.reached({ topic, partition }, stored.get(topic) ?? 0, end), end);
        }
      }
      return { done, total };
    },
  };
}

const lookEveryMs = 500;
/** It is at the end where it has what the log held three looks ago: a batch rests for 1.2 s at most. */
const endsKept = 4;
const saidEveryMs = 10_000;

export interface Filling extends FillingPlace {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how far the read model is, by its name, while it is filled; of one that isn't there is nothing here. */
  readonly filling: Map<string, CatchingUp>;
  /** Whether somebody else has finished it. */
  isOver(): Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Waits until it is at the log's end, or over. Never rejects: what is away is asked again; ends with the signal. */
export async function untilFilled(of: Filling): Promise<'filled' | 'over' | 'stopped'> {
  const { readModel, clock, logger, filling, isOver, signal } = of;
  const { name } = readModel.definition;
  const place = createFilledPlace(of);
  const ends: Offsets[] = [];
  let saidAt = -Infinity;
  const say = (progress: CatchingUp): void => {
    filling.set(name, progress);
    if (clock.monotonic() - saidAt < saidEveryMs) return;
    saidAt = clock.monotonic();
    logger.info('a read model is filled beside the one that serves', { readModel: name, ...progress });
  };
  const look = async (): Promise<'filled' | 'over' | null> => {
    if (await isOver()) return 'over';
    const now = await place.ends();
    ends.push(now);
    say(await place.reached(now));
    if (ends.length < endsKept) return null;
    const { done, total } = await place.reached(ends.shift() ?? now);
    return done >= total ? 'filled' : null;
  };
  try {
    while (!signal.aborted) {
      try {
        const end = await look();
        if (end !== null) return end;
      } catch (err) {
        logger.warn('how far a read model is filled is not known: looked at again', { readModel: name, err });
      }
      await clock.sleep(lookEveryMs, signal);
    }
    return 'stopped';
  } finally {
    filling.delete(name);
  }
}
