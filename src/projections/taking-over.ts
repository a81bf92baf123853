// Taking a partition number over in the store, for a claim of the group.

import type { Clock } from '../ports/clock.ts';
import type { Claim } from '../ports/event-log.ts';
import type { Ownership, ReadModelStore } from '../ports/read-model-store.ts';
import { HeldError, NewerOwnerError } from '../ports/read-model-store.ts';
import type { ReadModel } from './read-model.ts';

export interface TakingOver {
  readonly store: Pick<ReadModelStore, 'own'>;
  readonly readModel: ReadModel;
  readonly clock: Clock;
}

/** What is held is swapped within a second or two. */
const heldRestMs = 50;

/** Waits while the version is held for a swap. @throws StaleOwnerError while it is another's by right of a newer claim; Error when the store is away */
export async function takeOver(deps: TakingOver, claim: Claim): Promise<Ownership> {
  for (;;) {
    try {
      return await takeOverNow(deps, claim);
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
      await deps.clock.sleep(heldRestMs, claim.signal);
      if (claim.signal.aborted) throw error;
    }
  }
}

/**
 * A store that knows of a newer generation is right, unless the group was made anew since and counts from 1 again. Then the group, asked after the store,
 * says that the number is this claim's: within one group it couldn't, being in the newer generation by then. In the moment until the store is asked again
 * the number may go on to others: they find the same and change the generation that is named here, so that this take-over is refused.
 */
async function takeOverNow({ store, readModel }: TakingOver, claim: Claim): Promise<Ownership> {
  const { partition, generation } = claim;
  const { name } = readModel.definition;
  try {
    return await store.own(name, partition, { generation });
  } catch (error) {
    if (!(error instanceof NewerOwnerError)) throw error;
    await claim.confirm();
    return store.own(name, partition, { generation, after: error.generation });
  }
}
