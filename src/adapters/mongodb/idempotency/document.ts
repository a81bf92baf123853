// A key as MongoDB keeps it; its id is made of tenant and key.

import type { BatchId, NotificationId, TenantId } from '../../../domain/ids.ts';
import type { Position } from '../../../ports/event-log.ts';

export interface KeyDocument {
  readonly _id: string;
  readonly tenantId: TenantId;
  readonly keyHash: string;
  readonly fingerprint: string;
  readonly notificationId: NotificationId;
  /** Absent in those of before. */
  readonly batchId?: BatchId | null;
  readonly requestedAt: number;
  readonly leaseUntil: number | null;
  readonly position: Position | null;
  readonly expiresAt: Date;
}
