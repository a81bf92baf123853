// A read model that replaces another: filled from the log beside the one that serves, giving way to it, and in use once it is at the log's end.
//
//   former one in use ──> both are folded ──at the end──> this one is in use ──a while──> the former one is folded no more ──> removed
//
// Where each is stands in the store, so whoever is interrupted goes on, and every process of a cluster takes its numbers of both.

import type { Claim } from '../ports/event-log.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { ReadModelStore } from '../ports/read-model-store.ts';
import { compareBeside } from './beside-comparison.ts';
import { noteWhenCaughtUp } from './catching-up.ts';
import type { FillingStates } from './filling.ts';
import { untilFilled } from './filling.ts';
import type { ProjectorDependencies, RunningProjector } from './projector.ts';
import { projectorGroup, runProjector } from './projector.ts';
import type { ReadModel } from './read-model.ts';

export interface ReplacingDependencies extends ProjectorDependencies {
  readonly store: ReadModelStore & DocumentScan & Pick<RebuildableStore, 'noteComparison'>;
  /** Told how far the read model is, by its name, while it is filled. */
  readonly filling: FillingStates;
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
  let first: Claim | null = null;
  const onClaimed = (claim: Claim): void => {
    if (claim.partition === 0) first = claim;
  };
  const projector = await runProjector({ ...deps, isBeside: () => isBeside, onClaimed });
  const ofFormer = isBeside ? await runProjector({ ...deps, readModel: former }) : null;
  const finishes = (): boolean => first !== null && !first.signal.aborted;
  const replacing: Replacing = { ...deps, former, finishes, signal: stopping.signal };

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
    const { name } = readModel.definition;
    deps.logger.error('replacing a read model broke off: the next start goes on', { readModel: name, err });
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
  /** One process of those that fill it, at a time. */
  finishes(): boolean;
  readonly former: ReadModel;
  readonly signal: AbortSignal;
}

/** Until the read model is in use, by this process or another. Never rejects; ends with the signal. */
async function fill(replacing: Replacing): Promise<void> {
  const { store, readModel, former, logger, signal } = replacing;
  const { name } = readModel.definition;
  const isOver = () => store.hasCaughtUp(name);
  while (!signal.aborted) {
    const end = await untilFilled({ ...replacing, serving: { store, readModel: former }, isOver });
    if (end === 'stopped') return;
    // Somebody else does: whether it is over is looked at again.
    if (end === 'filled' && !replacing.finishes()) continue;
    try {
      if (end === 'filled') {
        await tellOfComparison(replacing);
        await store.noteCaughtUp(name);
      }
      replacing.filling.delete(name);
      const fields = { readModel: name, former: former.definition.name };
      return logger.info('a read model is in use in place of the former one', fields);
    } catch (err) {
      logger.warn('a read model that is filled is not in use yet: tried again', { readModel: name, err });
    }
  }
}

/** Another fold gives other documents: which, by a sample, for whoever wants to know before it is too late to go back. */
async function tellOfComparison(replacing: Replacing): Promise<void> {
  const { store, readModel, logger } = replacing;
  const { name } = readModel.definition;
  const collections = Object.entries(readModel.replaces?.collections ?? {}).map(([after, before]) => ({
    before,
    after,
  }));
  const comparison = await (
    await compareBeside({ ...replacing, before: store, after: store, collections }, 'some')
  ).now();
  const { compared, differing, fields, examples } = comparison;
  const told = { readModel: name, compared, differing, fields: Object.fromEntries(fields), examples };
  logger.info('a read model that replaces another differs from it so', told);
  await store.noteComparison(name, comparison);
}

/** A step takes some 10 ms of the thread, in the turns of what is filled. */
export const removalRestMs = 50;
/** Processes of a release before follow the former one. */
const followedRestMs = 60_000;

/** Once the read model is in use and nobody follows the former one. Never rejects; ends with the signal: the next start goes on. */
async function removeFormer(replacing: Replacing): Promise<void> {
  const { store, readModel, former, clock, logger, isFollowed, turns, signal } = replacing;
  const { name } = former.definition;
  const isUsed = async () =>
    !(await store.hasCaughtUp(readModel.definition.name)) || (await isFollowed(projectorGroup(name)));
  const removeSome = () => store.removeSome(name);
  let steps = 0;
  while (!signal.aborted) {
    let restMs = removalRestMs;
    try {
      if (await isUsed()) restMs = followedRestMs;
      else if ((await (turns?.beside(signal, removeSome) ?? removeSome())) === 'more') steps++;
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
