// A read model that is rebuilt while it serves: whoever asks for it begins its next version in the store (`herald rebuild`), and the projectors fill that
// beside the one in use, giving way to it.
//
//   begun ──> filled to the log's end ──> the version in use is held ──the next one has all of it──> swapped ──> the old one is removed
//
// The version in use is held for the moment in which the next one comes level: nothing that was shown is missing after the swap. Whoever is interrupted
// goes on with the version that was begun.

import type { RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { ReadModelStore } from '../ports/read-model-store.ts';
import type { CatchingUp } from './catching-up.ts';
import { createFilledPlace, untilFilled } from './filling.ts';
import type { FoldDependencies } from './partition-fold.ts';
import type { RunningProjector } from './projector.ts';
import { projectorGroup, runProjector } from './projector.ts';
import { removalRestMs } from './replacement.ts';

export interface LiveRebuildDependencies extends Omit<FoldDependencies, 'store' | 'report'> {
  readonly store: ReadModelStore & RebuildableStore;
  /** Told how far the next version is, by the read model's name, while it is filled. */
  readonly filling: Map<string, CatchingUp>;
  /** The old version is kept for so long after the swap: as long as a query of it may take. */
  readonly oldKeptMs: number;
}

interface Rebuilding extends LiveRebuildDependencies {
  readonly signal: AbortSignal;
}

/** Whoever asks for a rebuild waits for minutes at least. */
const askEveryMs = 1000;
/** While it is held nothing is folded into the version in use. */
const levelEveryMs = 25;

/** Rebuilds the read model whenever its next version was begun, until it is stopped. */
export function runLiveRebuilds(deps: LiveRebuildDependencies): RunningProjector {
  const stopping = new AbortController();
  const running = rebuildWhenBegun({ ...deps, signal: stopping.signal });
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Never rejects. */
async function rebuildWhenBegun(rebuilding: Rebuilding): Promise<void> {
  const { store, readModel, clock, logger, signal } = rebuilding;
  const { definition } = readModel;
  let isSwept = false;
  while (!signal.aborted) {
    try {
      const version = await store.nextVersion(definition);
      if (version !== null) {
        await rebuildInto(rebuilding, version);
        await clock.sleep(rebuilding.oldKeptMs, signal);
        isSwept = false;
      } else if (!isSwept) {
        isSwept = (await store.removeRetired(definition)) === 'done';
        if (!isSwept) await clock.sleep(removalRestMs, signal);
        continue;
      }
    } catch (err) {
      logger.warn('a rebuild does not come on: tried again', { readModel: definition.name, err });
    }
    await clock.sleep(askEveryMs, signal);
  }
}

async function rebuildInto(rebuilding: Rebuilding, version: number): Promise<void> {
  const { log, store, readModel, clock, logger, metrics, turns } = rebuilding;
  const { definition } = readModel;
  const next = await store.resumeRebuild(definition);
  const projector = await runProjector({
    log,
    store: next,
    readModel,
    clock,
    logger,
    metrics,
    ...(turns === undefined ? {} : { turns }),
    isBeside: () => true,
    group: rebuildGroup(definition.name),
  });
  try {
    const isOver = async () => (await store.nextVersion(definition)) !== version;
    if ((await untilFilled({ ...rebuilding, store: next, isOver })) !== 'filled') return;
    await store.hold(definition);
    if (!(await isLevel(rebuilding, next))) return;
    // Nobody is to take a number of it once the projectors of the version in use may.
    await projector.stop();
    await store.swap(definition);
    logger.info('a read model is in use as it was rebuilt', { readModel: definition.name });
  } finally {
    await projector.stop();
    await next.close();
  }
}

/** Waits until the next version has all that the held one has; false when the signal ended first. */
async function isLevel({ log, store, readModel, clock, signal }: Rebuilding, next: ReadModelStore): Promise<boolean> {
  const { name } = readModel.definition;
  const numbers = Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
  const held = await Promise.all(numbers.map((partition) => store.positions(name, partition)));
  const { reached } = createFilledPlace({ log, store: next, readModel });
  while (!signal.aborted) {
    const { done, total } = await reached(held);
    if (done >= total) return true;
    await clock.sleep(levelEveryMs, signal);
  }
  return false;
}

/** Its numbers are shared out among the same processes, apart from those of the version in use. */
function rebuildGroup(readModel: string): string {
  return `${projectorGroup(readModel)}-rebuild`;
}
