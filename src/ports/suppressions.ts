// To whom tenants send nothing any more.

import type { Channel, SuppressionReason } from '../domain/events.ts';
import type { EventId, TenantId } from '../domain/ids.ts';
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
  /** The tenant's entries as they are now, in no order. */
  of(tenantId: TenantId): readonly Suppression[];
  /** How many the tenant has. */
  count(tenantId: TenantId): number;
  find(tenantId: TenantId, id: string): Suppression | null;
  /** The event that has put it on the list; null: it isn't there. */
  causeOf(tenantId: TenantId, id: string): EventId | null;
  /** Whether a tenant has released a recipient since a report of that time, or the very suppression of that event: told late, or again, it suppresses nobody. */
  wasReleased(tenantId: TenantId, id: string, by: { readonly at: number; readonly eventId: EventId }): boolean;
  /** Whether what the log has up to there is in it. */
  hasReached(position: Position): boolean;
}
