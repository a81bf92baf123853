// What a list of records is asked for, and what comes back.

import type { Channel, FailureClass, Priority } from '../../domain/events.ts';
import type { BatchId } from '../../domain/ids.ts';
import type { Status } from '../../domain/notification.ts';
import type { FieldValue } from '../../ports/read-model-store.ts';
import type { ListedNotification } from './document.ts';

/** Facts of a record: all that are given hold. */
export interface RecordFilter {
  readonly status?: Status;
  readonly channel?: Channel;
  readonly priority?: Priority;
  /** Upper and lower case of a mail address are the same. */
  readonly recipient?: string;
  readonly templateName?: string;
  readonly batchId?: BatchId;
  /** These four are of the last attempt that has ended. */
  readonly provider?: string;
  readonly messageId?: string;
  readonly errorClass?: FailureClass;
  readonly errorCode?: string;
  /** UTC ms, [from, to) of requestedAt. */
  readonly from?: number;
  readonly to?: number;
  /** UTC ms, [failedFrom, failedTo) of when it came to be FAILED, which it still is. */
  readonly failedFrom?: number;
  readonly failedTo?: number;
}

/** Found by the read model of searches, which may lag behind the records. */
export interface SearchFilter {
  /** Upper and lower case are the same. */
  readonly recipientPrefix?: string;
  /** Words: all of them stand in subject or body. */
  readonly words?: readonly string[];
  /** All of these pairs. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export type NotificationFilter = RecordFilter & SearchFilter;

/** Where a list goes on: after the key of the last row seen, or by page number (1 is the first). Neither: the first page. */
export interface ListPlace {
  /** At most 100 is what the API lets through. */
  readonly limit: number;
  readonly after?: readonly FieldValue[];
  readonly page?: number;
}

export interface NotificationList {
  readonly records: readonly ListedNotification[];
  /** All that match, whatever the page. */
  readonly total: number;
  /** False when there are at least `total`. */
  readonly totalIsExact: boolean;
  /** To be passed as `after`; null at the end. */
  readonly next: readonly FieldValue[] | null;
}

/** A batch's notifications are counted whole, and a search's as far: their entries of the index stand side by side. */
export const countedTotalMax = 10_000;
/**
 * All others that no statistic gives are counted up to here. Entries of a recipient or a template lie scattered over the index: 10,000 that no memory holds are
 * 300 reads of a disk, 45 to 115 ms; 1,000 at most a third of a page's 25 ms. Rows that are looked at for what their index doesn't say take some 9 us each.
 */
export const checkedTotalMax = 1000;
