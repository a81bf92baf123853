// Items of batches that are read, checked and encoded beside the thread that answers requests.

import type { DomainError } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { EncodedEvents } from './event-log.ts';

/** What all items of a batch have in common. */
export interface ItemsOf {
  readonly tenantId: TenantId;
  readonly batchId: BatchId;
  readonly trace: TraceContext;
}

/** Of one channel and priority. */
export interface MadeEvents {
  readonly channel: Channel;
  readonly events: EncodedEvents;
  /** Of each event: its notification, and its text's place among those that were given. */
  readonly notificationIds: readonly NotificationId[];
  readonly places: readonly number[];
}

export interface MadeItems {
  /** How many texts are through, from the first on: the next one asks for what that thread hasn't (a template, a key), and what follows comes behind it. */
  readonly through: number;
  readonly made: readonly MadeEvents[];
  /** Those that are wrong, by their places. */
  readonly refused: readonly (Pick<DomainError, 'code' | 'message' | 'details'> & { readonly place: number })[];
}

export interface ItemMaker {
  /** Answers come in the order of the calls. Never rejects; null: that thread is gone, and nothing is through. @param texts JSON */
  make(texts: readonly string[], of: ItemsOf): Promise<MadeItems | null>;
}
