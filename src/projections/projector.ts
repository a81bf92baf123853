// A projector: folds one read model, a loop for each partition number that it owns.
//
//   take as many events as there are ──> fold ──> position and documents in one transaction ──┐
//     └────────────────────────────────────────────────────────────────────────────┘

import type { Claim } from '../ports/event-log.ts';
import type { FoldDependencies } from './partition-fold.ts';
import { ownPartition } from './partition-fold.ts';

/** What a reader of the read models hardly notices, and what saves most fetches at 500 events a second. */
const eventsGatheredMs = 50;

export interface RunningProjector {
  /** Finishes the batches in hand and gives all numbers back. */
  stop(): Promise<void>;
}

export interface ProjectorDependencies extends FoldDependencies {
  /** Told of each number once its position is known. */
  readonly onOwned?: (partition: number) => void;
}

/** Makes the read model's collections, then follows the log until it is stopped. */
export async function runProjector(deps: ProjectorDependencies): Promise<RunningProjector> {
  const { report, readModel } = deps;
  const { name } = readModel.definition;

  return runOnClaims(deps, async (claim) => {
    const partition = await ownPartition(deps, claim);
    if (partition === null) return;
    deps.onOwned?.(claim.partition);
    for (;;) {
      const entries = await partition.take();
      if (entries === null) return;
      const [oldest] = entries;
      if (oldest !== undefined) report?.inHand(name, claim.partition, oldest.appendedAt);
      const written = await partition.fold(entries);
      report?.folded(name, claim.partition);
      if (written === null) return;
    }
  });
}

/** Consumes the read model's group with one loop for each number owned; a loop ends when its claim has. */
export async function runOnClaims(
  deps: FoldDependencies,
  loop: (claim: Claim) => Promise<void>,
): Promise<RunningProjector> {
  const { log, store, readModel, logger, report } = deps;
  await store.prepare(readModel.definition);
  const loops = new Set<Promise<void>>();
  const consumer = await log.consume({
    group: projectorGroup(readModel.definition.name),
    topics: readModel.topics,
    gatherMs: eventsGatheredMs,
    ...(readModel.types === undefined ? {} : { types: readModel.types }),
    owned(claim) {
      const running: Promise<void> = loop(claim)
        .catch((error: unknown) => {
          const fields = { readModel: readModel.definition.name, partition: claim.partition, err: error };
          logger.error('a projector loop broke', fields);
        })
        .finally(() => {
          loops.delete(running);
          report?.ended(readModel.definition.name, claim.partition);
        });
      loops.add(running);
    },
    lost() {
      // The claim's signal ends the loop; a batch that comes too late is refused by the store.
    },
  });
  return {
    async stop() {
      await consumer.stop();
      await Promise.all(loops);
    },
  };
}

export function projectorGroup(readModel: string): string {
  return `projector-${readModel}`;
}
