// A projector: folds one read model, a loop for each partition number that it owns.
//
//   take as many events as there are ──> fold ──> position and documents in one transaction ──┐
//     └────────────────────────────────────────────────────────────────────────────┘
// A loop that ends while its claim goes on (the number was taken over by one who came late, or a bug) begins again, from the stored position.

import { retentionTopic } from '../domain/topics.ts';
import { type Claim, StaleOwnerError } from '../ports/event-log.ts';
import { createRecentEnds } from './fold-ahead.ts';
import type { FoldDependencies, PartitionFold } from './partition-fold.ts';
import { backOff, ownPartition } from './partition-fold.ts';
import { takenAt } from './taken-at.ts';

/** What a reader of the read models hardly notices, and what saves most fetches at 500 events a second. */
const eventsGatheredMs = 50;

export interface RunningProjector {
  /** Finishes the batches in hand and gives all numbers back. May be called again. */
  stop(): Promise<void>;
}

export type ProjectorDependencies = FoldDependencies;

/** Makes the read model's collections, then follows the log until it is stopped. */
export async function runProjector(deps: ProjectorDependencies): Promise<RunningProjector> {
  const { report, readModel, clock } = deps;
  const { name } = readModel.definition;

  return runOnClaims(deps, async ({ partition }, fold) => {
    for (;;) {
      const entries = await fold.take();
      if (entries === null) return;
      const [oldest] = entries;
      if (oldest !== undefined) report?.inHand(name, partition, takenAt(oldest, clock.now()));
      const written = await fold.fold(entries);
      report?.folded(name, partition);
      if (written === null || !(await fold.foldOthers())) return;
    }
  });
}

/** Follows a number that is owned until its claim has ended. @throws StaleOwnerError when somebody else has taken the number over in the store */
export type FollowNumber = (claim: Claim, fold: PartitionFold) => Promise<void>;

/** Consumes the read model's group: each number that is claimed is owned and followed until its claim ends. */
export async function runOnClaims(deps: FoldDependencies, follow: FollowNumber): Promise<RunningProjector> {
  const { log, store, readModel, report } = deps;
  await store.prepare(readModel.definition);
  countFromZero(deps);
  const loops = new Set<Promise<void>>();
  const ends = createRecentEnds(deps, readModel);
  const consumer = await log.consume({
    group: deps.group ?? projectorGroup(readModel.definition.name),
    topics: readModel.topics,
    deleted: 'over',
    // What is forgotten has been folded until then: whatever of it came later would bring it back.
    afterOthers: new Set([retentionTopic]),
    gatherMs: eventsGatheredMs,
    ...(readModel.types === undefined ? {} : { types: readModel.types }),
    owned(claim) {
      deps.onClaimed?.(claim);
      const running: Promise<void> = untilClaimEnds({ ...deps, ends }, claim, follow).finally(() => {
        loops.delete(running);
        report?.ended(readModel.definition.name, claim.partition);
      });
      loops.add(running);
    },
    lost() {
      // The claim's signal ends the loop; a batch that comes too late is refused by the store.
    },
  });
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await consumer.stop();
    await Promise.all(loops);
  };
  return { stop: () => (stopped ??= stop()) };
}

/** What hasn't happened yet is 0, so that its first time is seen as a rise. */
function countFromZero({ metrics, readModel }: FoldDependencies): void {
  const ofReadModel = [
    'herald_documents_cut_total',
    'herald_fold_failures_total',
    'herald_folded_ahead_total',
    'herald_folded_events_total',
    'herald_numbers_owned_again_total',
  ] as const;
  for (const name of ofReadModel) metrics.increment(name, { read_model: readModel.definition.name }, 0);
  for (const topic of readModel.topics) metrics.increment('herald_dead_letters_total', { topic }, 0);
}

/** A number that was followed for so long had its reasons for its next end, and the wait begins small again. */
const steadyMs = 60_000;

/** While the group says that the number is ours it is owned and followed, however often that ends and whatever the reason. Never rejects. */
async function untilClaimEnds(deps: FoldDependencies, claim: Claim, follow: FollowNumber): Promise<void> {
  const { clock, logger, metrics, readModel } = deps;
  const { name } = readModel.definition;
  for (let times = 1; ; times++) {
    const begunAt = clock.monotonic();
    const reason = await ownAndFollow(deps, claim, follow);
    if (clock.monotonic() - begunAt > steadyMs) times = 1;
    // At a rebalance the next owner may be ahead of the news that this claim is over.
    await backOff(clock, times, claim.signal);
    if (claim.signal.aborted) return;
    metrics.increment('herald_numbers_owned_again_total', { read_model: name });
    const fields = { readModel: name, partition: claim.partition, generation: claim.generation, times, err: reason };
    logger.warn('a number of a read model is owned again: its claim goes on', fields);
  }
}

/** Why it ended; null: no reason was given. */
async function ownAndFollow(deps: FoldDependencies, claim: Claim, follow: FollowNumber): Promise<unknown> {
  try {
    const fold = await ownPartition(deps, claim);
    if (fold === null) return null;
    try {
      await follow(claim, fold);
    } finally {
      fold.close();
      // What was in hand is read again, by whoever owns the number next.
      deps.report?.folded(deps.readModel.definition.name, claim.partition);
    }
    return null;
  } catch (error) {
    if (error instanceof StaleOwnerError) return error;
    const fields = { readModel: deps.readModel.definition.name, partition: claim.partition, err: error };
    deps.logger.error('a projector loop broke', fields);
    return error;
  }
}

export function projectorGroup(readModel: string): string {
  return `projector-${readModel}`;
}
