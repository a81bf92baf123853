// The tenants' suppression lists, folded in memory: dispatchers ask them for each attempt, so they stand in no store.
//
// All of a recipient's events stand in one partition, and each partition is folded in its order, so the last one counts; what is told twice changes nothing.

import { isErased } from '../../domain/erasure.ts';
import type { RecipientErased, RecipientSuppressed, SuppressionEvent } from '../../domain/events.ts';
import type { EventId, TenantId } from '../../domain/ids.ts';
import { comparedRecipient, suppressionIdOf } from '../../domain/suppression.ts';
import type { LogEntry } from '../../ports/event-log.ts';
import type { Suppression, SuppressionList } from '../../ports/suppressions.ts';

export interface FoldedSuppressions extends SuppressionList {
  /** In the order of each partition; what stands before what was told of it is passed over. */
  fold(entry: LogEntry): void;
  /** Of all tenants. */
  readonly size: number;
}

/** Of a tenant: 2 MiB at most, 200 bytes each. Providers tell late by days; whoever was released that many releases ago may be suppressed by it again. */
const releasesMax = 10_000;

interface Release {
  /** UTC ms. */
  readonly at: number;
  /** The event that had put it on the list. */
  readonly causedBy: EventId | null;
}

export function createSuppressionList(): FoldedSuppressions {
  /** By tenant and id. */
  const lists = new Map<TenantId, Map<string, Suppression>>();
  /** By partition: the offset behind the last event told. */
  const told = new Map<number, number>();
  /** By tenant and id: which event has put it on the list. */
  const causes = new Map<TenantId, Map<string, EventId>>();
  /** By tenant and id: who was taken off the list, in this order. */
  const releases = new Map<TenantId, Map<string, Release>>();
  let size = 0;

  const release = (event: SuppressionEvent, id: string): void => {
    const { tenantId, occurredAt: at } = event;
    const ofTenant = releases.get(tenantId) ?? new Map<string, Release>();
    releases.set(tenantId, ofTenant);
    ofTenant.delete(id);
    ofTenant.set(id, { at, causedBy: causes.get(tenantId)?.get(id) ?? null });
    causes.get(tenantId)?.delete(id);
    const [oldest] = ofTenant.keys();
    if (ofTenant.size > releasesMax && oldest !== undefined) ofTenant.delete(oldest);
  };

  const suppress = (event: RecipientSuppressed, id: string): void => {
    const { tenantId, channel, recipient, reason, occurredAt: createdAt, eventId } = event;
    const list = lists.get(tenantId) ?? new Map<string, Suppression>();
    lists.set(tenantId, list);
    // Suppressed again it is the entry that it was.
    if (list.has(id)) return;
    list.set(id, { id, channel, recipient, reason, createdAt });
    const ofTenant = causes.get(tenantId) ?? new Map<string, EventId>();
    causes.set(tenantId, ofTenant.set(id, eventId));
  };

  const apply = (event: SuppressionEvent): void => {
    const { tenantId, channel, recipient } = event;
    const id = suppressionIdOf(tenantId, channel, recipient);
    size -= lists.get(tenantId)?.size ?? 0;
    if (event.type === 'RecipientSuppressed') suppress(event, id);
    else if (lists.get(tenantId)?.delete(id) === true) release(event, id);
    const list = lists.get(tenantId);
    size += list?.size ?? 0;
    if (list?.size === 0) lists.delete(tenantId);
  };

  /** Those that one of the named events has put on the list. */
  const forget = ({ tenantId, eventIds }: RecipientErased): void => {
    if (eventIds.length === 0) return;
    const [list, ofTenant, named] = [lists.get(tenantId), causes.get(tenantId), new Set(eventIds)];
    for (const [id, eventId] of ofTenant ?? []) {
      if (!named.has(eventId)) continue;
      ofTenant?.delete(id);
      if (list?.delete(id) === true) size -= 1;
    }
    if (list?.size === 0) lists.delete(tenantId);
  };

  /** The lists of a tenant that is erased. */
  const forgetTenant = (tenantId: TenantId): void => {
    size -= lists.get(tenantId)?.size ?? 0;
    for (const all of [lists, causes, releases]) all.delete(tenantId);
  };

  return {
    fold({ partition, offset, event }) {
      if (offset < (told.get(partition) ?? 0)) return;
      told.set(partition, offset + 1);
      if (event?.type === 'RecipientErased') forget(event);
      if (event?.type === 'TenantErased') forgetTenant(event.tenantId);
      if (event?.type !== 'RecipientSuppressed' && event?.type !== 'RecipientReleased') return;
      if (!isErased(event)) apply(event);
    },
    has(tenantId, channel, recipient) {
      const list = lists.get(tenantId);
      return list?.has(suppressionIdOf(tenantId, channel, comparedRecipient(channel, recipient))) === true;
    },
    of: (tenantId) => [...(lists.get(tenantId)?.values() ?? [])],
    count: (tenantId) => lists.get(tenantId)?.size ?? 0,
    causeOf: (tenantId, id) => causes.get(tenantId)?.get(id) ?? null,
    find: (tenantId, id) => lists.get(tenantId)?.get(id) ?? null,
    wasReleased(tenantId, id, { at, eventId }) {
      const released = releases.get(tenantId)?.get(id);
      return released !== undefined && (at <= released.at || eventId === released.causedBy);
    },
    hasReached: ({ partition, offset }) => (told.get(partition) ?? 0) > offset,
    get size() {
      return size;
    },
  };
}
