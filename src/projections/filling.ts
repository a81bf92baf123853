// How far a read model is that is filled from the log's beginning while queries are answered by another, and when it is level with that.

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

/** Of what is filled. */
export interface FillingState extends CatchingUp {
  /** When some of it was folded last, or it began; by the monotonic clock. */
  readonly movedAt: number;
}

/** By the read model's name. */
export type FillingStates = Map<string, FillingState>;

/** It stands still when nothing of it was folded for so long, whatever the reason. */
export const fillingStillMs = 30_000;

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

/** What the one that serves has by now, as far as it follows the same topics, and where the log ends of the others. Rejects when log or store are away. */
async function servedOffsets(of: {
  readonly place: Pick<FilledPlace, 'ends'>;
  readonly store: Pick<ReadModelReader, 'positions'>;
  readonly serving: ReadModel;
}): Promise<Offsets> {
  const { place, store, serving } = of;
  const ends = await place.ends();
  return Promise.all(
    ends.map(async (byTopic, partition) => {
      const stored = await store.positions(serving.definition.name, partition);
      return new Map(
        [...byTopic].map(([topic, end]) => [topic, serving.topics.includes(topic) ? (stored.get(topic) ?? 0) : end]),
      );
    }),
  );
}

const lookEveryMs = 500;
/** It is filled where it has what the one that serves had three looks ago: a batch rests for 1.2 s at most. Of the log's end both may be seconds away. */
const endsKept = 4;
const saidEveryMs = 10_000;

export interface Filling extends FillingPlace {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how far the read model is; whoever has it filled takes it out once it is in use. */
  readonly filling: FillingStates;
  /** What it is filled beside, in its store. */
  readonly serving: { readonly store: Pick<ReadModelReader, 'positions'>; readonly readModel: ReadModel };
  /** Whether somebody else has finished it. */
  isOver(): Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Waits until it is level with the one that serves, or over. Never rejects: what is away is asked again; ends with the signal. */
export async function untilFilled(of: Filling): Promise<'filled' | 'over' | 'stopped'> {
  const { readModel, clock, logger, filling, serving, isOver, signal } = of;
  const { name } = readModel.definition;
  const place = createFilledPlace(of);
  const ends: Offsets[] = [];
  let saidAt = -Infinity;
  const say = (progress: CatchingUp): void => {
    const before = filling.get(name);
    const now = clock.monotonic();
    const movedAt = before === undefined || progress.done > before.done ? now : before.movedAt;
    filling.set(name, { ...progress, movedAt });
    if (now - saidAt < saidEveryMs) return;
    saidAt = now;
    const stillMs = now - movedAt;
    if (stillMs >= fillingStillMs && progress.done < progress.total)
      return logger.error('the filling of a read model stands still', { readModel: name, stillMs, ...progress });
    logger.info('a read model is filled beside the one that serves', { readModel: name, ...progress });
  };
  const look = async (): Promise<'filled' | 'over' | null> => {
    if (await isOver()) return 'over';
    const now = await place.ends();
    ends.push(await servedOffsets({ place, store: serving.store, serving: serving.readModel }));
    say(await place.reached(now));
    if (ends.length < endsKept) return null;
    const { done, total } = await place.reached(ends.shift() ?? []);
    return done >= total ? 'filled' : null;
  };
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
}
