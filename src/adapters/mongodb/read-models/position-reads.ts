// Offsets for those who ask for one position after another: what is asked for in one turn of the event loop, a tenant's two numbers or all of a read model's,
// is found by one query. Each costs this process some 0.3 ms, whatever it finds.

import type { Db } from 'mongodb';

import type { Topic } from '../../../domain/topics.ts';
import { offsetsOf, positionsOf } from './positions.ts';
import { queryMs } from './queries.ts';

/** @param id of a position; one that isn't there has no offsets */
export type PositionReads = (id: string) => Promise<ReadonlyMap<Topic, number>>;

interface Asking {
  readonly ids: Set<string>;
  /** Offsets as they are stored, by id. */
  readonly found: Promise<ReadonlyMap<string, string>>;
}

export function createPositionReads(db: Db): PositionReads {
  let asking: Asking | null = null;
  const ask = (): Asking => {
    const ids = new Set<string>();
    const found = endOfTurn().then(() => {
      asking = null;
      return findOffsets(db, [...ids]);
    });
    return { ids, found };
  };
  return async (id) => {
    asking ??= ask();
    asking.ids.add(id);
    const text = (await asking.found).get(id);
    return text === undefined ? new Map<Topic, number>() : offsetsOf(text);
  };
}

/** Behind all that follows at once from what has just come. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

async function findOffsets(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = await positionsOf(db)
    .find({ _id: { $in: ids } }, { projection: { offsets: 1 }, batchSize: ids.length + 1, maxTimeMS: queryMs })
    .toArray();
  return new Map(found.map(({ _id, offsets }) => [_id, offsets]));
}
