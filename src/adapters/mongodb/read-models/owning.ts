// Taking a partition number over: the former owner's session is ended, so that its locks don't outlive it, and its epoch raised, so that it can't write.
// A take-over that comes late, when the number is another's by right of a newer generation, changes nothing.

import { type Binary, type ClientSession, type Db, type Filter, type MongoClient, MongoServerError } from 'mongodb';

import type { Logger } from '../../../ports/logger.ts';
import { StaleOwnerError } from '../../../ports/event-log.ts';
import { type Claimed, HeldError, NewerOwnerError, type Ownership } from '../../../ports/read-model-store.ts';
import type { PositionDocument } from './positions.ts';
import { positionId, positionsOf } from './positions.ts';
import type { ModelVersion } from './versions.ts';

/** Where a transaction leaves a number, as texts. */
export interface Moved {
  readonly offsets: string;
  /** null: nothing is folded before its turn. */
  readonly ahead: string | null;
}

/** A partition number in this process's hands. */
export interface Hold {
  readonly positionId: string;
  readonly epoch: number;
  /** Another one after a transaction whose end had to be found out. */
  session: ClientSession;
  /** The sequence of a transaction whose end isn't known, and the position that it was to leave. */
  unsettled: ({ readonly sequence: number } & Moved) | null;
}

/** What the port's ownership carries for us. */
export interface MongoOwnership extends Ownership {
  readonly version: number;
  readonly sequence: number;
}

/** A locked position is waited for so long; then the session that holds it is ended (again). */
const lockWaitMs = 1000;
const attemptsMax = 5;

/** @throws NewerOwnerError, HeldError; Error when the store is away, or the version is no longer in use (after a swap) */
export async function takeOver(
  deps: { readonly client: MongoClient; readonly db: Db; readonly endSession: EndSession },
  model: ModelVersion,
  partition: number,
  by: Claimed,
): Promise<{ readonly hold: Hold; readonly position: PositionDocument }> {
  const { client, db, endSession } = deps;
  const positions = positionsOf(db);
  const _id = positionId(model, partition);
  const session = client.startSession();
  for (let attempt = 1; ; attempt++) {
    try {
      const former = await positions.findOne({ _id }, { projection: { lsid: 1, generation: 1, retired: 1 } });
      if (former !== null) {
        throwIfNewer(model, partition, by, former.generation ?? 0);
        if (former.retired === true) throw new HeldError(model.name);
        await endSession(former.lsid);
      }
      const position = await positions.findOneAndUpdate(
        { _id, retired: { $ne: true }, $or: notNewerThan(by) },
        {
          $inc: { epoch: 1 },
          $set: { lsid: lsidOf(session), generation: by.generation },
          $setOnInsert: { partition, sequence: 0, offsets: '{}' },
        },
        { upsert: true, returnDocument: 'after', maxTimeMS: lockWaitMs },
      );
      if (position === null) throw new Error(`the position of ${model.name} ${partition} was not given`);
      return { hold: { positionId: _id, epoch: position.epoch, session, unsettled: null }, position };
    } catch (error) {
      if (attempt < attemptsMax && isLocked(error)) continue;
      await session.endSession();
      throw error;
    }
  }
}

function throwIfNewer({ name }: ModelVersion, partition: number, by: Claimed, owned: number): void {
  if (owned > by.generation && owned !== by.after) throw new NewerOwnerError(name, partition, by, owned);
}

/** As `throwIfNewer`, at the server: it may have been taken over since it was read. */
function notNewerThan({ generation, after }: Claimed): Filter<PositionDocument>[] {
  const isOver = after === undefined ? [] : [{ generation: after }];
  return [{ generation: { $lte: generation } }, { generation: { $exists: false } }, ...isOver];
}

export function lsidOf(session: ClientSession): Binary {
  if (session.id === undefined) throw new Error('the session has ended');
  return session.id.id;
}

export function stale({ readModel, partition, epoch }: Ownership): StaleOwnerError {
  return new StaleOwnerError(`number ${partition} of ${readModel} was taken over from the owner of epoch ${epoch}`);
}

export type EndSession = (lsid: Binary) => Promise<void>;

/** Ends a session on the server, with its transaction. Where that isn't allowed its locks last up to a minute: said once. */
export function createEndSession(client: MongoClient, logger: Logger): EndSession {
  let isTold = false;
  return async (lsid) => {
    try {
      await client.db('admin').command({ killSessions: [{ id: lsid }] });
    } catch (error) {
      if (!(error instanceof MongoServerError) || isStateChange(error)) throw error;
      if (isTold) return;
      isTold = true;
      logger.warn('sessions of former owners cannot be ended: taking over may last a minute', { err: error });
    }
  };
}

/** MaxTimeMSExpired: somebody's transaction has the document. DuplicateKey: it is there, made in the same moment or owned by right of a newer generation. */
function isLocked(error: unknown): boolean {
  return error instanceof MongoServerError && (error.code === 50 || error.code === 11_000);
}

/** LegacyNotPrimary, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary, PrimarySteppedDown, ShutdownInProgress, InterruptedAtShutdown, InterruptedDueToReplStateChange. */
const stateChangeCodes: ReadonlySet<unknown> = new Set([10_058, 10_107, 13_435, 13_436, 189, 91, 11_600, 11_602]);

/** It says nothing of what is allowed: another server is the primary, or this one stops. */
function isStateChange({ code }: MongoServerError): boolean {
  return stateChangeCodes.has(code);
}
