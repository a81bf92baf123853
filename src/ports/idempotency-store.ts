// What was accepted under an Idempotency-Key, for 24 h: a key is taken before its notification is appended, and settled after.
//
//   reserve ──> pending ──append──> settle ──> done ──24 h──> forgotten
//                  │ refused: release        (replayed)
//                  └ its process ended: whoever repeats the request after `leaseUntil` takes it over
//
// What is lost with a store is found again in the records: the id of a notification with a key follows from the key (domain/idempotency.ts).

import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import type { Position } from './event-log.ts';

export interface KeyPlace {
  readonly tenantId: TenantId;
  /** The key itself isn't kept. */
  readonly keyHash: string;
}

export interface KeyEntry extends KeyPlace {
  /** Of what was asked for. */
  readonly fingerprint: string;
  readonly notificationId: NotificationId;
  /** The batch that it came with; null: none, or it isn't known. */
  readonly batchId: BatchId | null;
  /** UTC ms; the entry holds from then on for `keyLifetimeMs`. */
  readonly requestedAt: number;
  /** UTC ms until when nobody else appends the notification; null: it is in the log. */
  readonly leaseUntil: number | null;
  /** Where it is in the log; null: not known, or not in it. */
  readonly position: Position | null;
}

/** Every call rejects with an Error when the store is away; then it may have written all the same. */
export interface IdempotencyStore {
  /** Resolves with the entry that holds at `now`: the one that was there, or null when the given one was stored. Of any number at once one is stored. */
  reserve(entry: KeyEntry, now: number): Promise<KeyEntry | null>;
  /** null: there is none that holds at `now`. */
  find(place: KeyPlace, now: number): Promise<KeyEntry | null>;
  /** A later lease for an entry that is as it was read; false when it isn't any more. */
  takeOver(entry: KeyEntry, leaseUntil: number): Promise<boolean>;
  /** The notification is in the log: in place of whatever is stored of the key. */
  settle(entry: KeyEntry): Promise<void>;
  /** The notification will not be in the log: removes the entry if it is as it was read. */
  release(entry: KeyEntry): Promise<void>;
  /** Removes all of the tenant's, some at a time. */
  removeTenant(tenantId: TenantId): Promise<void>;
  close(): Promise<void>;
}
