// A change of one tenant: in one transaction with the revision that tells of it.
//
// Every transaction begins by raising the one revision document. So while one is open, no other gets past its first
// step: it fails with a write conflict and begins anew. All writes of all processes therefore come one after another,
// each sees what the one before has written, and revisions become visible in their order: whoever sees a revision sees
// every lower one.
//
//   process A:  revision 7 -> 8, change, commit
//   process B:        conflict ... conflict ... revision 8 -> 9, change, commit

import { type ClientSession, type Filter, MongoError, MongoErrorLabel } from 'mongodb';

import { tenantIsGone } from '../../../domain/errors.ts';
import type { TenantId } from '../../../domain/ids.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { MongoConnection } from '../connection.ts';
import type { Collections, TenantDocument } from './collections.ts';
import { unlessErased } from './erasing.ts';
import { createTurns } from './turns.ts';

/**
 * `change` answers whether it changed anything; when it didn't, nothing is written. It runs again when another writer
 * was first.
 */
export type WriteTenant = (
  tenantId: TenantId,
  change: (session: ClientSession) => Promise<boolean>,
) => Promise<boolean>;

export interface Writer {
  /** Of a tenant that there is: who hasn't heard of its erasure yet saves nothing of it. @throws DomainError FORBIDDEN */
  readonly write: WriteTenant;
  /** Of one that is erased by it, or was. */
  readonly erase: WriteTenant;
}

export interface WriterDependencies {
  readonly connection: MongoConnection;
  readonly collections: Collections;
  readonly clock: Clock;
}

interface Change {
  readonly tenantId: TenantId;
  /** What the tenant has to be, once it is changed. */
  readonly whose: Filter<TenantDocument>;
  readonly change: (session: ClientSession) => Promise<boolean>;
}

/** A write is begun or committed again within this time, against those of other processes. */
const writeMaxMs = 5000;
/** Rests between tries are random, up to 5, 10, ... 80 ms: an open transaction takes some 10 ms. */
const restFirstMs = 5;
const restMaxMs = 80;

const transactionOptions = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority', journal: true },
  readPreference: 'primary',
} as const;

export function createWriter({ connection, collections, clock }: WriterDependencies): Writer {
  const takeTurn = createTurns();

  /** Runs it again as long as it fails with the label, which says that this may help. */
  async function repeat<T>(run: () => Promise<T>, label: string, until: number): Promise<T> {
    for (let restMs = restFirstMs; ; restMs = Math.min(restMs * 2, restMaxMs)) {
      try {
        return await run();
      } catch (error) {
        const mayHelp = error instanceof MongoError && error.hasErrorLabel(label);
        if (!mayHelp || clock.monotonic() >= until) throw error;
      }
      await clock.sleep(clock.random() * restMs);
    }
  }

  async function write(session: ClientSession, { tenantId, whose, change }: Change): Promise<boolean> {
    const raised = await collections
      .revisions()
      .findOneAndUpdate({ _id: 'settings' }, { $inc: { revision: 1 } }, { session, returnDocument: 'after' });
    if (raised === null) throw new Error('the revision of the settings is gone');
    if (!(await change(session))) return false;
    const { revision } = raised;
    const told = await collections
      .tenants()
      .updateOne({ _id: tenantId, ...whose }, { $set: { revision } }, { session });
    if (told.matchedCount === 0) throw tenantIsGone(tenantId);
    return true;
  }

  function inTransaction(change: Change): Promise<boolean> {
    const until = clock.monotonic() + writeMaxMs;
    const transact = async (session: ClientSession) => {
      session.startTransaction(transactionOptions);
      let hasChanged = false;
      try {
        hasChanged = await write(session, change);
      } finally {
        // What fails here is given up by the server itself.
        if (!hasChanged) await session.abortTransaction().catch(() => {});
      }
      if (hasChanged) {
        await repeat(() => session.commitTransaction(), MongoErrorLabel.UnknownTransactionCommitResult, until);
      }
      return hasChanged;
    };
    return connection.client.withSession((session) =>
      repeat(() => transact(session), MongoErrorLabel.TransientTransactionError, until),
    );
  }

  const writing =
    (whose: Filter<TenantDocument>): WriteTenant =>
    (tenantId, change) =>
      takeTurn(tenantId, () => inTransaction({ tenantId, whose, change }));
  return { write: writing(unlessErased), erase: writing({}) };
}
