// The tenants' suppression lists, folded in memory: dispatchers ask them for each attempt, so they stand in no store.
//
// All of a recipient's events stand in one partition, and each partition is folded in its order, so the last one counts; what is told twice changes nothing.

import type { SuppressionEvent } from '../../domain/events.ts';
import type { TenantId } from '../../domain/ids.ts';
import { comparedRecipient, suppressionIdOf } from '../../domain/suppression.ts';
import type { LogEntry } from '../../ports/event-log.ts';
import type { Suppression, SuppressionList } from '../../ports/suppressions.ts';

export interface FoldedSuppressions extends SuppressionList {
  /** In the order of each partition; what stands before what was told of it is passed over. */
  fold(entry: LogEntry): void;
  /** Of all tenants. */
  readonly size: number;
}

export function createSuppressionList(): FoldedSuppressions {
  /** By tenant and id. */
  const lists = new Map<TenantId, Map<string, Suppression>>();
  /** By partition: the offset behind the last event told. */
  const told = new Map<number, number>();
  let size = 0;

  const apply = (event: SuppressionEvent): void => {
    const { tenantId, channel, recipient, occurredAt } = event;
    const id = suppressionIdOf(tenantId, channel, recipient);
    const list = lists.get(tenantId) ?? new Map<string, Suppression>();
    size -= list.size;
    if (event.type === 'RecipientReleased') list.delete(id);
    // Suppressed again it is the entry that it was.
    else if (!list.has(id)) list.set(id, { id, channel, recipient, reason: event.reason, createdAt: occurredAt });
    size += list.size;
    if (list.size === 0) lists.delete(tenantId);
    else lists.set(tenantId, list);
  };

  return {
    fold({ partition, offset, event }) {
      if (offset < (told.get(partition) ?? 0)) return;
      told.set(partition, offset + 1);
      if (event?.type === 'RecipientSuppressed' || event?.type === 'RecipientReleased') apply(event);
    },
    has(tenantId, channel, recipient) {
      const list = lists.get(tenantId);
      return list?.has(suppressionIdOf(tenantId, channel, comparedRecipient(channel, recipient))) === true;
    },
    of: (tenantId) => [...(lists.get(tenantId)?.values() ?? [])].sort(newestFirst),
    count: (tenantId) => lists.get(tenantId)?.size ?? 0,
    find: (tenantId, id) => lists.get(tenantId)?.get(id) ?? null,
    hasReached: ({ partition, offset }) => (told.get(partition) ?? 0) > offset,
    get size() {
      return size;
    },
  };
}

function newestFirst(a: Suppression, b: Suppression): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1);
}
