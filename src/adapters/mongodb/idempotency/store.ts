// The keys of the last 24 h in MongoDB, for any number of processes: a document for each, its id made of tenant and key, so that one of all who come at once
// is first.

import type { Collection } from 'mongodb';

import { keyLifetimeMs } from '../../../domain/idempotency.ts';
import type { IdempotencyStore, KeyEntry, KeyPlace } from '../../../ports/idempotency-store.ts';
import type { MongoConnection } from '../connection.ts';
import type { KeyDocument } from './document.ts';
import { createGroupedReplaces } from './grouped-replaces.ts';

/** MongoDB removes by its own clock, which may be ahead: what has expired may stay for an hour more, and holds no longer. */
const removedAfterSeconds = 3600;
/** A primary that hangs is given up: the request is answered within 5 s, two calls of it included. */
const callMaxMs = 2000;
const name = 'idempotency_keys';
/** Far less than a call may take. */
const removedPerStep = 1000;

/** All of them, while nobody accepts: what they name may not be in the log that is there then; where it is, it is found again in the records. */
export async function forgetKeys({ db }: Pick<MongoConnection, 'db'>): Promise<void> {
  await db.collection(name).deleteMany({});
}

/** Makes its collection and index; the connection stays open when the store is closed. Rejects when the server is away. */
export async function openMongoIdempotencyStore({
  connection,
}: {
  readonly connection: MongoConnection;
}): Promise<IdempotencyStore> {
  await connection.db.collection(name).createIndex({ expiresAt: 1 }, { expireAfterSeconds: removedAfterSeconds });
  const keys: Collection<KeyDocument> = connection.db.collection<KeyDocument>(name, {
    timeoutMS: callMaxMs,
    // What another process has just taken is seen at once, majority or not.
    readConcern: { level: 'local' },
  });
  const replaces = createGroupedReplaces(keys);
  return {
    async reserve(entry, now) {
      // Inserted, or put in the place of one that has expired; one that holds is a second document of its id, which there can't be.
      const { _id, ...document } = documentOf(entry);
      const held = await replaces.upsert({ _id, expiresAt: { $lte: new Date(now) } }, document);
      return held === null ? null : entryOf(held);
    },
    async find(place, now) {
      const found = await keys.findOne({ _id: idOf(place), expiresAt: { $gt: new Date(now) } });
      return found === null ? null : entryOf(found);
    },
    async takeOver({ notificationId, leaseUntil: before, ...place }, leaseUntil) {
      if (before === null) return false;
      const filter = { _id: idOf(place), notificationId, leaseUntil: before };
      const { modifiedCount } = await keys.updateOne(filter, { $set: { leaseUntil } });
      return modifiedCount === 1;
    },
    async settle(entry) {
      const { _id, ...document } = documentOf(entry);
      await replaces.upsert({ _id }, document);
    },
    async release({ notificationId, leaseUntil, ...place }) {
      if (leaseUntil !== null) await keys.deleteOne({ _id: idOf(place), notificationId, leaseUntil });
    },
    async removeTenant(tenantId) {
      // The ids of a tenant's are between these: no character stands between a colon and a semicolon.
      const ofTenant = { _id: { $gte: `${tenantId}:`, $lt: `${tenantId};` } };
      for (;;) {
        const some = await keys
          .find(ofTenant, { projection: { _id: 1 } })
          .limit(removedPerStep)
          .toArray();
        if (some.length === 0) return;
        await keys.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } });
      }
    },
    async close() {
      // The connection is its opener's.
    },
  };
}

function idOf({ tenantId, keyHash }: KeyPlace): string {
  return `${tenantId}:${keyHash}`;
}

function documentOf(entry: KeyEntry): KeyDocument {
  return { _id: idOf(entry), ...entry, expiresAt: new Date(entry.requestedAt + keyLifetimeMs) };
}

function entryOf(document: KeyDocument): KeyEntry {
  const { _id, expiresAt: _, batchId = null, ...entry } = document;
  return { ...entry, batchId };
}
