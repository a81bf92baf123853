// Finding out what became of a transaction whose answer was lost.

import type { ClientSession, Db, MongoClient } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import { StaleOwnerError } from '../../../ports/event-log.ts';
import { type EndSession, type Hold, lsidOf, type MongoOwnership, stale } from './owning.ts';
import { positionsOf } from './positions.ts';

/** How long a transaction whose answer was lost is asked after before its caller is told to repeat. */
const settleMs = 2000;
const settleStepMs = 200;
const lockWaitMs = 2000;

/**
 * Whether the transaction whose answer was lost was applied. Nothing of it can come later: its session is ended and its position written anew, which waits for
 * whatever had it.
 * @throws StaleOwnerError; Error when the store is away
 */
export async function settle(
  deps: { readonly client: MongoClient; readonly db: Db; readonly endSession: EndSession },
  hold: Hold,
  owner: MongoOwnership,
): Promise<boolean> {
  await deps.endSession(lsidOf(hold.session));
  const session = deps.client.startSession();
  const position = await renewed(deps.db, hold, session);
  void hold.session.endSession().catch(nothing);
  hold.session = session;
  hold.unsettled = null;
  if (position === null) throw stale(owner);
  if (position.sequence === owner.sequence + 1) return true;
  if (position.sequence === owner.sequence) return false;
  throw stale(owner);
}

async function renewed(db: Db, hold: Hold, session: ClientSession) {
  try {
    return await positionsOf(db).findOneAndUpdate(
      { _id: hold.positionId, epoch: hold.epoch },
      { $set: { lsid: lsidOf(session) } },
      { returnDocument: 'after', maxTimeMS: lockWaitMs },
    );
  } catch (error) {
    await session.endSession();
    throw error;
  }
}

/** False also when the store was away all the time: the next call finds out. @throws StaleOwnerError */
export async function settledInTime(clock: Clock, settled: () => Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonic() + settleMs;
  for (;;) {
    try {
      return await settled();
    } catch (error) {
      if (error instanceof StaleOwnerError) throw error;
      if (clock.monotonic() >= deadline) return false;
    }
    await clock.sleep(settleStepMs);
  }
}

function nothing(): void {
  // A session that can't be ended ends by itself.
}
