// To whom tenants send nothing any more.

import type { Channel, SuppressionReason } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Position } from './event-log.ts';

export interface Suppression {
  readonly id: string;
  readonly channel: Channel;
  /** As it is compared: an email address in ASCII and lower case. */
  readonly recipient: string;
  readonly reason: SuppressionReason;
  /** UTC ms. */
  readonly createdAt: number;
}

export interface Suppressions {
  /** From memory: asked for each attempt. */
  has(tenantId: TenantId, channel: Channel, recipient: string): boolean;
}

export interface SuppressionList extends Suppressions {
  /** The tenant's entries, the newest first. */
  of(tenantId: TenantId): readonly Suppression[];
  /** How many the tenant has. */
  count(tenantId: TenantId): number;
  find(tenantId: TenantId, id: string): Suppression | null;
  /** Whether what the log has up to there is in it. */
  hasReached(position: Position): boolean;
}
