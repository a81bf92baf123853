// Offsets for those who ask for one position after another: what is asked for in one turn of the event loop, a tenant's two numbers or all of a read model's,
// is found by one query. Each costs this process some 0.3 ms, whatever it finds.

import type { Db } from 'mongodb';

import type { Topic } from '../../../domain/topics.ts';
import type { FoldedAhead } from '../../../ports/folded-ahead.ts';
import { foldedAheadOf } from '../../../ports/folded-ahead.ts';
import type { PositionDocument } from './positions.ts';
import { offsetsOf, positionsOf } from './positions.ts';
import { queryMs } from './queries.ts';

/** Of positions, by id. */
export interface PositionReads {
  /** One that isn't there has none. */
  offsets(id: string): Promise<ReadonlyMap<Topic, number>>;
  /** What is folded before its turn; null: nothing. */
  ahead(id: string): Promise<FoldedAhead | null>;
}

type Stored = Pick<PositionDocument, '_id' | 'offsets' | 'ahead'>;

interface Asking {
  readonly ids: Set<string>;
  /** By id. */
  readonly found: Promise<ReadonlyMap<string, Stored>>;
}

export function createPositionReads(db: Db): PositionReads {
  let asking: Asking | null = null;
  const ask = (): Asking => {
    const ids = new Set<string>();
    const found = endOfTurn().then(() => {
      asking = null;
      return findPositions(db, [...ids]);
    });
    return { ids, found };
  };
  const stored = async (id: string): Promise<Stored | undefined> => {
    asking ??= ask();
    asking.ids.add(id);
    return (await asking.found).get(id);
  };
  return {
    async offsets(id) {
      const position = await stored(id);
      return position === undefined ? new Map<Topic, number>() : offsetsOf(position.offsets);
    },
    async ahead(id) {
      const text = (await stored(id))?.ahead;
      return text === undefined ? null : foldedAheadOf(text);
    },
  };
}

/** Behind all that follows at once from what has just come. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

async function findPositions(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, Stored>> {
  const found = await positionsOf(db)
    .find(
      { _id: { $in: ids } },
      { projection: { offsets: 1, ahead: 1 }, batchSize: ids.length + 1, maxTimeMS: queryMs },
    )
    .toArray();
  return new Map(found.map((position) => [position._id, position]));
}
