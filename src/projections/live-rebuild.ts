// A read model that is rebuilt while it serves: whoever asks for it begins its next version in the store (`herald rebuild`), and the projectors fill that
// beside the one in use, giving way to it.
//
//   begun ──> filled, never beyond the one in use ──> both are held, the next one comes level (level-swap.ts) ──> swapped ──> the old one is removed
//
// Every process with the role takes its numbers of the next version; one of them, whoever has number 0, finishes it. Whoever is interrupted goes on with the
// version that was begun.

import type { Claim } from '../ports/event-log.ts';
import type { BesideComparison, NextVersionStore, RebuildableStore } from '../ports/read-model-rebuild.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { ReadModelStore } from '../ports/read-model-store.ts';
import { compareBeside } from './beside-comparison.ts';
import type { FillingStates } from './filling.ts';
import { untilFilled } from './filling.ts';
import type { Swapping } from './level-swap.ts';
import { createServedFirst, swapLevel } from './level-swap.ts';
import type { FoldDependencies } from './partition-fold.ts';
import type { RunningProjector } from './projector.ts';
import { projectorGroup, runProjector } from './projector.ts';
import { removalRestMs } from './replacement.ts';

export interface LiveRebuildDependencies extends Omit<FoldDependencies, 'store' | 'report'> {
  readonly store: ReadModelStore & RebuildableStore & DocumentScan;
  /** Told how far the next version is, by the read model's name, while it is filled. */
  readonly filling: FillingStates;
  /** The old version is kept for so long after the swap: as long as a query of it may take. */
  readonly oldKeptMs: number;
}

interface Rebuilding extends LiveRebuildDependencies {
  readonly signal: AbortSignal;
}

/** Whoever asks for a rebuild waits for minutes at least. */
const askEveryMs = 1000;

/** Rebuilds the read model whenever its next version was begun, until it is stopped. */
export function runLiveRebuilds(deps: LiveRebuildDependencies): RunningProjector {
  deps.metrics.increment('herald_rebuild_differences_total', { read_model: deps.readModel.definition.name }, 0);
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
  const { store, readModel, clock, logger, turns, signal } = rebuilding;
  const { definition } = readModel;
  const removeRetired = () => store.removeRetired(definition);
  let isSwept = false;
  while (!signal.aborted) {
    try {
      const version = await store.nextVersion(definition);
      if (version !== null) {
        await rebuildInto(rebuilding, version);
        await clock.sleep(rebuilding.oldKeptMs, signal);
        isSwept = false;
      } else if (!isSwept) {
        isSwept = (await (turns?.beside(signal, removeRetired) ?? removeRetired())) === 'done';
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
  const { log, store, readModel, clock, logger, metrics, turns, signal } = rebuilding;
  const { definition } = readModel;
  const next = await store.resumeRebuild(definition);
  let first: Claim | null = null;
  const projector = await runProjector({
    log,
    store: next,
    readModel,
    clock,
    logger,
    metrics,
    ...(turns === undefined ? {} : { turns }),
    isBeside: () => true,
    mayFold: createServedFirst({ store, readModel, clock }),
    onClaimed(claim) {
      if (claim.partition === 0) first = claim;
    },
    group: rebuildGroup(definition.name),
  });
  /** One process of those that fill it. */
  const finishes = (): boolean => first !== null && !first.signal.aborted;
  const isOver = async (): Promise<boolean> => {
    // Asked while this process holds nothing: whoever does was killed in it, and nothing would be folded into either again.
    if (finishes()) await store.letGo(definition, version);
    return (await store.nextVersion(definition)) !== version;
  };
  try {
    const serving = { store, readModel };
    if ((await untilFilled({ ...rebuilding, store: next, serving, isOver })) !== 'filled') return;
    for (let tries = 1; ; tries++) {
      if (finishes() && (await swapped(rebuilding, next, { version, tries }))) return;
      if (signal.aborted || (await isOver())) return;
      await clock.sleep(askEveryMs, signal);
    }
  } finally {
    await projector.stop();
    await next.close();
    rebuilding.filling.delete(definition.name);
  }
}

/** A line a minute. */
const toldEveryTries = 60;

/** Tried again and again, for longer each time: a busy machine takes its time. Never rejects. */
async function swapped(rebuilding: Rebuilding, next: NextVersionStore, to: Pick<Swapping, 'version' | 'tries'>) {
  const { store, readModel, logger } = rebuilding;
  const { name, collections } = readModel.definition;
  const { tries } = to;
  try {
    const pairs = collections.map((of) => ({ before: of.name, after: of.name }));
    const findings = await compareBeside({ ...rebuilding, before: store, after: next, collections: pairs }, 'each');
    let comparison: BesideComparison | null = null;
    const whenLevel: Swapping['whenLevel'] = async (held) => {
      comparison = await findings.settle(held);
      // Before the swap, so that whoever watches finds it once that is over.
      await store.noteComparison(name, comparison);
    };
    const swap = await swapLevel(rebuilding, { ...to, whenLevel });
    if (swap === 'ahead' && tries % toldEveryTries === 1)
      logger.info('a read model that is rebuilt waits until no tenant fills a number', { readModel: name, tries });
    if (swap !== 'swapped') return false;
    logger.info('a read model is in use as it was rebuilt', { readModel: name });
    if (comparison !== null) tellOf(rebuilding, comparison);
    return true;
  } catch (err) {
    logger.warn('a read model that is rebuilt is not in use yet: tried again', { readModel: name, tries, err });
    return false;
  }
}

/** The same fold of the same events: what differs was wrong, and is right now. */
function tellOf({ readModel, logger, metrics }: Rebuilding, comparison: BesideComparison): void {
  const { name } = readModel.definition;
  const { compared, differing, fields, examples } = comparison;
  metrics.increment('herald_rebuild_differences_total', { read_model: name }, differing);
  const told = { readModel: name, compared, differing };
  if (differing === 0) logger.info('a read model that was rebuilt is as it was before', told);
  else
    logger.error('a read model that was rebuilt was wrong before', {
      ...told,
      fields: Object.fromEntries(fields),
      examples,
    });
}

/** Its numbers are shared out among the same processes, apart from those of the version in use. */
function rebuildGroup(readModel: string): string {
  return `${projectorGroup(readModel)}-rebuild`;
}
