// How far erasures are: what they read of the log, in which order, and what counts it.

import type { TenantId } from '../domain/ids.ts';
import type { Partitioning } from '../domain/topics.ts';
import { allTopics, partitionsOfTenant } from '../domain/topics.ts';
import type { Position } from '../ports/event-log.ts';

/** What counts how far erasures are: notifications that they have named, and events that they have read for it. */
export const erasedCount = 'herald_erased_total';
export const eventsRead = 'herald_erasure_events_read_total';

/** What an erasure reads of the log behind the records, in this order: a mark's place is one of these. */
export function placesInLog(tenantId: TenantId, partitioning: Partitioning): readonly Omit<Position, 'offset'>[] {
  const numbers = partitionsOfTenant(tenantId, partitioning);
  return allTopics.flatMap((topic) => numbers.map((partition) => ({ topic, partition })));
}
