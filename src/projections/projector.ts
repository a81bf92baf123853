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
  const { metrics, readModel, clock } = deps;
  const { name } = readModel.definition;
  const lag = measureLag({ metrics, clock }, name);

  return runOnClaims(deps, async (claim) => {
    const partition = await ownPartition(deps, claim);
    if (partition === null) return;
    deps.onOwned?.(claim.partition);
    for (;;) {
      const entries = await partition.take();
      const [oldest] = entries;
      if (oldest === undefined) return;
      lag.inHand(claim.partition, oldest.appendedAt);
      const written = await partition.fold(entries);
      lag.folded(claim.partition);
      if (written === null) return;
    }
  });
}

/** Consumes the read model's group with one loop for each number owned; a loop ends when its claim has. */
export async function runOnClaims(
  deps: FoldDependencies,
  loop: (claim: Claim) => Promise<void>,
): Promise<RunningProjector> {
  const { log, store, readModel, logger } = deps;
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
        .finally(() => loops.delete(running));
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

export interface Lag {
  /** @param since when the log took the oldest event in hand, UTC ms */
  inHand(partition: number, since: number): void;
  folded(partition: number): void;
}

/** How old the oldest event is that is in hand and not folded. */
export function measureLag({ metrics, clock }: Pick<FoldDependencies, 'metrics' | 'clock'>, readModel: string): Lag {
  const inHandSince = new Map<number, number>();
  const lagSeconds = (): number => {
    const now = clock.now();
    return Math.max(0, now - Math.min(now, ...inHandSince.values())) / 1000;
  };
  metrics.gauge('herald_projector_lag', lagSeconds, { read_model: readModel });
  return {
    inHand: (partition, since) => inHandSince.set(partition, since),
    folded: (partition) => inHandSince.delete(partition),
  };
}
