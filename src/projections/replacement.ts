// A read model that replaces another: filled from the log beside the one that serves, giving way to it, and in use once it is at the log's end.
//
//   former one in use ──> both are folded ──at the end──> this one is in use ──a while──> the former one is folded no more ──> removed
//
// Where each is stands in the store, so whoever is interrupted goes on, and every process of a cluster takes its numbers of both.

import type { Topic } from '../domain/topics.ts';
import type { RunningProjector, ProjectorDependencies } from './projector.ts';
import { projectorGroup, runProjector } from './projector.ts';
import type { CatchingUp } from './catching-up.ts';
import { noteWhenCaughtUp } from './catching-up.ts';
import { createReach } from './reach.ts';
import type { ReadModel } from './read-model.ts';

export interface ReplacingDependencies extends ProjectorDependencies {
  /** Told how far the read model is, by its name, while it is filled; of one that isn't there is nothing here. */
  readonly filling: Map<string, CatchingUp>;
  /** The former one is folded for so long after it was replaced: as long as whoever reads it may not know that yet. */
  readonly formerKeptMs: number;
  /** Whether any process follows this group of projectors. Rejects when the log is away. */
  isFollowed(group: string): Promise<boolean>;
}

/** In place of a projector of a read model that replaces `former`. */
export async function runReplacing(deps: ReplacingDependencies, former: ReadModel): Promise<RunningProjector> {
  const { store, readModel } = deps;
  const stopping = new AbortController();
  let isBeside = await isFormerInUse(store, readModel, former);
  const projector = await runProjector({ ...deps, isBeside: () => isBeside });
  const ofFormer = isBeside ? await runProjector({ ...deps, readModel: former }) : null;
  const replacing: Replacing = { ...deps, former, signal: stopping.signal };

  const follow = async (): Promise<void> => {
    if (ofFormer === null) await noteWhenCaughtUp(replacing);
    else {
      await fill(replacing);
      isBeside = false;
      await deps.clock.sleep(deps.formerKeptMs, stopping.signal);
      if (!stopping.signal.aborted) await ofFormer.stop();
    }
    await removeFormer(replacing);
  };
  const following = follow().catch((err: unknown) => {
    deps.logger.error('replacing a read model broke off: the next start goes on', {
      readModel: readModel.definition.name,
      err,
    });
  });
  return {
    async stop() {
      await projector.stop();
      stopping.abort();
      await following;
      await ofFormer?.stop();
    },
  };
}

/** Whether queries of the read model are answered by the one that it replaces. */
export async function isFormerInUse(
  reader: Pick<ReplacingDependencies['store'], 'hasCaughtUp'>,
  readModel: ReadModel,
  former: ReadModel,
): Promise<boolean> {
  return !(await reader.hasCaughtUp(readModel.definition.name)) && reader.hasCaughtUp(former.definition.name);
}

interface Replacing extends ReplacingDependencies {
  readonly former: ReadModel;
  readonly signal: AbortSignal;
}

const lookEveryMs = 500;
/** It is at the end where it has what the log held three looks ago: a batch rests for 1.2 s at most. */
const endsKept = 4;
const saidEveryMs = 10_000;

/** By number: where each topic ends. */
type Ends = readonly ReadonlyMap<Topic, number>[];

/** Until the read model is in use, by this process or another. Never rejects; ends with the signal. */
async function fill(replacing: Replacing): Promise<void> {
  const { store, readModel, former, clock, logger, filling, signal } = replacing;
  const { name } = readModel.definition;
  const place = createPlace(replacing);
  const ends: Ends[] = [];
  let saidAt = -Infinity;
  const say = (progress: CatchingUp): void => {
    filling.set(name, progress);
    if (clock.monotonic() - saidAt < saidEveryMs) return;
    saidAt = clock.monotonic();
    logger.info('a read model is filled beside the one that serves', {
      readModel: name,
      former: former.definition.name,
      ...progress,
    });
  };
  const isInUse = async (): Promise<boolean> => {
    if (await store.hasCaughtUp(name)) return true;
    const now = await place.ends();
    ends.push(now);
    say({ done: await place.reached(now), total: eventsBelow(now) });
    if (ends.length < endsKept) return false;
    const before = ends.shift() ?? now;
    if ((await place.reached(before)) < eventsBelow(before)) return false;
    await store.noteCaughtUp(name);
    return true;
  };
  while (!signal.aborted) {
    try {
      if (await isInUse()) {
        logger.info('a read model is in use in place of the former one', {
          readModel: name,
          former: former.definition.name,
        });
        break;
      }
    } catch (err) {
      logger.warn('how far a read model is filled is not known: looked at again', { readModel: name, err });
    }
    await clock.sleep(lookEveryMs, signal);
  }
  filling.delete(name);
}

function createPlace({ log, store, readModel }: Replacing) {
  const { topics, definition } = readModel;
  const reach = createReach({ log, readModel });
  return {
    async ends(): Promise<Ends> {
      const byTopic = await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const));
      return Array.from(
        { length: log.partitioning.partitions },
        (_, partition) => new Map(byTopic.map(([topic, ends]) => [topic, ends[partition] ?? 0])),
      );
    },
    /** How many of the events below these ends are folded or passed over. */
    async reached(ends: Ends): Promise<number> {
      let events = 0;
      for (const [partition, byTopic] of ends.entries()) {
        const offsets = await store.positions(definition.name, partition);
        for (const [topic, end] of byTopic)
          events += Math.min(await reach.reached({ topic, partition }, offsets.get(topic) ?? 0, end), end);
      }
      return events;
    },
  };
}

function eventsBelow(ends: Ends): number {
  return ends.reduce((sum, byTopic) => [...byTopic.values()].reduce((a, b) => a + b, sum), 0);
}

/** A step takes some 10 ms of the thread. */
const removalRestMs = 50;
/** Processes of a release before follow the former one. */
const followedRestMs = 60_000;

/** Once the read model is in use and nobody follows the former one. Never rejects; ends with the signal: the next start goes on. */
async function removeFormer({ store, readModel, former, clock, logger, isFollowed, signal }: Replacing): Promise<void> {
  const { name } = former.definition;
  let steps = 0;
  while (!signal.aborted) {
    let restMs = removalRestMs;
    try {
      if (!(await store.hasCaughtUp(readModel.definition.name)) || (await isFollowed(projectorGroup(name))))
        restMs = followedRestMs;
      else if ((await store.removeSome(name)) === 'more') steps++;
      else {
        if (steps > 0) logger.info('a read model that was replaced is removed', { readModel: name });
        return;
      }
    } catch (err) {
      logger.warn('a read model that was replaced is not removed yet: tried again', { readModel: name, err });
      restMs = followedRestMs;
    }
    await clock.sleep(restMs, signal);
  }
}
