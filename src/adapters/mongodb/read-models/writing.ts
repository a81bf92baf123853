// Folding a batch into a partition number: one transaction, the position first.
//
//   position (epoch, sequence) ──> documents ──> commit ──> answered: done
//                                                  └──────> lost: end the session, look at the sequence of the position ──> applied, or not
//
// The position's sequence goes up by one with each transaction of its owner, so it tells whether one whose answer was lost was applied. That is
// found out at once or, when the store is away, at the next call with the same ownership, before anything is written.

import { type Db, type MongoClient, MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb';

import type { Clock } from '../../../ports/clock.ts';
import { StaleOwnerError } from '../../../ports/event-log.ts';
import type { Logger } from '../../../ports/logger.ts';
import { foldedAheadOf, foldedAheadText } from '../../../ports/folded-ahead.ts';
import { HeldError } from '../../../ports/read-model-store.ts';
import type { Ownership, ReadModelStore } from '../../../ports/read-model-store.ts';
import { type Batch, batchOf, writeBatch } from './batch.ts';
import { createEndSession, type Hold, type MongoOwnership, type Moved, stale, takeOver } from './owning.ts';
import { offsetsOf, offsetsText, positionId, positionsOf } from './positions.ts';
import { makeIndexes } from './preparing.ts';
import { settle, settledInTime } from './settling.ts';
import { isUnindexed, versionsOf, type View } from './versions.ts';

export interface WritingDependencies {
  readonly client: MongoClient;
  readonly db: Db;
  readonly view: View;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Which version of a read model is owned by it. */
  readonly owns: Owned;
}

/** `held`: the next version, by whoever holds it. */
type Owned = 'current' | 'next' | 'held';

export type Writing = Pick<ReadModelStore, 'own' | 'transact' | 'noteCaughtUp'> & {
  /** Ends its sessions: what it owned is fenced by whoever owns it next. */
  endAll(): Promise<void>;
};

/** Tries of a transaction that others' locks or a new primary got in the way of, some ms apart. */
const triesMax = 5;
const retryMs = 10;
/** Then the commit's end counts as unknown. */
const commitMs = 10_000;

export function createWriting(deps: WritingDependencies): Writing {
  const { client, db, view, clock } = deps;
  const endSession = createEndSession(client, deps.logger);
  const holds = new Map<string, Hold>();

  const holdOf = (owner: MongoOwnership): Hold => {
    const hold = holds.get(positionId({ name: owner.readModel, version: owner.version }, owner.partition));
    if (hold?.epoch !== owner.epoch) throw stale(owner);
    return hold;
  };
  /** The answer to an earlier take-over of this process may come after that to a later one. */
  const keep = (hold: Hold) => {
    const kept = holds.get(hold.positionId);
    const [newer, older] = kept === undefined || kept.epoch < hold.epoch ? [hold, kept] : [kept, hold];
    holds.set(hold.positionId, newer);
    void older?.session.endSession().catch(nothing);
  };
  const settled = (hold: Hold, owner: MongoOwnership) => settle({ client, db, endSession }, hold, owner);

  return {
    async own(readModel, partition, by) {
      for (let attempt = 1; ; attempt++) {
        await view.refresh();
        const model = await view.model(readModel);
        if (deps.owns !== 'current' && !(await isInUse(db, readModel, model.version, deps.owns)))
          throw new StaleOwnerError(`version ${model.version} of ${readModel} is no longer the next one`);
        const { hold, position } = await takeOver({ client, db, endSession }, model, partition, by);
        keep(hold);
        const { epoch, sequence } = position;
        const offsets = offsetsOf(position.offsets);
        const ahead = position.ahead === undefined ? null : foldedAheadOf(position.ahead);
        const owner = { readModel, partition, epoch, offsets, ahead, version: model.version, sequence };
        // A version that was swapped out before it was ours has no position that a swap could have fenced.
        if (await isInUse(db, readModel, model.version, deps.owns)) return owner;
        if (attempt === 3) throw new Error(`the version of ${readModel} changes all the time`);
      }
    },

    async transact(ownership, offsets, writes, ahead = ownership.ahead) {
      const owner = mongoOwnership(ownership);
      const model = await view.model(owner.readModel);
      const hold = holdOf(owner);
      if (model.version !== owner.version) throw stale(owner);
      const batch = batchOf(model, writes);
      const moved = offsets.size === 0 ? owner.offsets : new Map([...owner.offsets, ...offsets]);
      const to: Moved = { offsets: offsetsText(moved), ahead: ahead === null ? null : foldedAheadText(ahead) };
      const next: MongoOwnership = { ...owner, offsets: moved, ahead, sequence: owner.sequence + 1 };

      const { unsettled } = hold;
      if (unsettled !== null) {
        const isSame =
          unsettled.sequence === owner.sequence && unsettled.offsets === to.offsets && unsettled.ahead === to.ahead;
        if (!isSame) throw stale(owner);
        if (await settled(hold, owner)) return next;
      }
      let ignoresHints = false;
      for (let attempt = 1; ; attempt++) {
        const end = await attempted(db, hold, owner, to, ignoresHints ? batch.withoutHints() : batch);
        if (end.kind === 'committed') return next;
        if (end.kind === 'unknown') {
          hold.unsettled = { sequence: owner.sequence, ...to };
          if (end.mayBeApplied && (await settledInTime(clock, () => settled(hold, owner)))) return next;
          throw end.error;
        }
        ignoresHints ||= isDuplicateKey(end.error);
        if (attempt === triesMax || !(isTransient(end.error) || isDuplicateKey(end.error))) throw end.error;
        await clock.sleep(retryMs * 2 ** attempt * clock.random());
      }
    },

    async noteCaughtUp(readModel, signal) {
      const model = await view.model(readModel);
      // Whether the read model has caught up is said of the version in use.
      if (deps.owns !== 'current') {
        await makeIndexes(db, model, signal);
        return;
      }
      const found = await versionsOf(db).findOne({ _id: readModel });
      if (found !== null && isUnindexed(found)) {
        const begunAt = clock.monotonic();
        if (!(await makeIndexes(db, model, signal))) return;
        deps.logger.info('indexes made', { readModel, tookMs: Math.round(clock.monotonic() - begunAt) });
      }
      await versionsOf(db).updateOne({ _id: readModel }, { $unset: { catchingUp: '', unindexed: '' } });
    },

    async endAll() {
      const sessions = [...holds.values()].map(({ session }) => session);
      holds.clear();
      await Promise.all(sessions.map((session) => session.endSession().catch(nothing)));
    },
  };
}

type AttemptEnd =
  | { readonly kind: 'committed' }
  /** Surely not applied, nothing is left of it on the server. */
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The server's answer was lost: before the commit was sent (then locks may be left), or after. */
  | { readonly kind: 'unknown'; readonly mayBeApplied: boolean; readonly error: unknown };

/** @throws StaleOwnerError */
async function attempted(db: Db, hold: Hold, owner: MongoOwnership, to: Moved, batch: Batch): Promise<AttemptEnd> {
  const { session } = hold;
  if (batch.parts.length === 0) return movedAlone(db, hold, owner, to);
  session.startTransaction({ writeConcern: { w: 'majority', journal: true }, maxCommitTimeMS: commitMs });
  try {
    if (!(await movePosition(db, hold, owner, to))) throw stale(owner);
    await writeBatch(db, batch, session);
  } catch (error) {
    if (error instanceof MongoError && !(error instanceof MongoServerError)) {
      return { kind: 'unknown', mayBeApplied: false, error };
    }
    await session.abortTransaction();
    if (error instanceof StaleOwnerError) throw error;
    return { kind: 'failed', error };
  }
  try {
    await session.commitTransaction();
    return { kind: 'committed' };
  } catch (error) {
    return isTransient(error) ? { kind: 'failed', error } : { kind: 'unknown', mayBeApplied: true, error };
  }
}

/** Most events of some read models change no document: their position moves by one command instead of three. @throws StaleOwnerError */
async function movedAlone(db: Db, hold: Hold, owner: MongoOwnership, to: Moved): Promise<AttemptEnd> {
  try {
    if (await movePosition(db, hold, owner, to)) return { kind: 'committed' };
  } catch (error) {
    const isRefused = error instanceof MongoServerError && !(error instanceof MongoWriteConcernError);
    return isRefused ? { kind: 'failed', error } : { kind: 'unknown', mayBeApplied: true, error };
  }
  throw stale(owner);
}

/** False: somebody else owns it. */
async function movePosition(db: Db, hold: Hold, { epoch, sequence }: MongoOwnership, { offsets, ahead }: Moved) {
  const moved = { offsets, sequence: sequence + 1 };
  const { matchedCount } = await positionsOf(db).updateOne(
    { _id: hold.positionId, epoch, sequence },
    ahead === null ? { $set: moved, $unset: { ahead: '' } } : { $set: { ...moved, ahead } },
    { session: hold.session },
  );
  return matchedCount === 1;
}

/** @throws HeldError for a next version that is another's to move */
async function isInUse(db: Db, readModel: string, version: number, as: Owned): Promise<boolean> {
  const document = await versionsOf(db).findOne({ _id: readModel });
  if (as === 'current') return document?.version === version;
  if (document?.next?.version !== version) return false;
  if (as === 'next' && document.next.isHeld === true) throw new HeldError(readModel);
  return true;
}

function mongoOwnership(owner: Ownership): MongoOwnership {
  if ('version' in owner && 'sequence' in owner) return owner as MongoOwnership;
  throw new TypeError('this ownership is of another store');
}

function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('TransientTransactionError');
}

function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 11_000;
}

function nothing(): void {
  // A session that can't be ended ends by itself.
}
