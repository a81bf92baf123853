// What the read models still have of some events whose retention has ended. An event may go once nothing that it told is there any more, so that a rebuild of
// what is left gives the same documents.

import { isNotificationEvent } from '../domain/events.ts';
import type { BatchAccepted, DomainEvent } from '../domain/events.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import type { LogEntry } from '../ports/event-log.ts';
import type { Document, ReadModelReader } from '../ports/read-model-store.ts';
import { TooManyBytesError } from '../ports/read-model-store.ts';
import type { InboxDocument, InboxItemDocument } from '../projections/inbox/documents.ts';
import { inboxesCollection, inboxId, itemsCollection } from '../projections/inbox/documents.ts';
import { batchesCollection, countsIds } from '../projections/notifications/batches.ts';
import type { NotificationDocument } from '../projections/notifications/document.ts';
import { isListed, notificationsCollection } from '../projections/notifications/document.ts';
import { lastForgotten } from '../projections/notifications/forgetting.ts';
import { keptIds } from '../projections/notifications/kept-days.ts';
import type { ReportsDocument } from '../projections/notifications/reports.ts';
import { reportCellsCollection, reportsCollection, reportsIdOf } from '../projections/notifications/reports.ts';
import { statisticsCollection } from '../projections/notifications/statistics-cells.ts';
import type { Judging } from './horizon.ts';
import { isHeld, isKeptForItsKey } from './horizon.ts';

/** What the records have of one that has ended: neither where an inbox alone has something of it. */
export interface Ended {
  readonly record: NotificationDocument | null;
  readonly report: ReportsDocument | null;
}

/** Of one tenant. */
export interface Forgettable {
  readonly tenantId: TenantId;
  readonly notifications: Map<NotificationId, Ended>;
  readonly batchIds: Set<BatchId>;
  readonly endedDays: Set<number>;
}

export interface Judged {
  /** Offsets of events that are to stay for now, ascending: something of them is still there. */
  readonly kept: readonly number[];
  /** What of it has ended, by tenant. */
  readonly forgettable: readonly Forgettable[];
}

type Reader = Pick<ReadModelReader, 'get'>;

export interface JudgedBy extends Judging {
  /** How many partition numbers the log has. */
  readonly partitions: number;
  /** Days (UTC ms) that begin before it are counted no longer; null: for ever. */
  readonly daysBefore: number | null;
}

export async function judge(reader: Reader, entries: readonly LogEntry[], by: JudgedBy): Promise<Judged> {
  const events = entries.flatMap(({ event }) => (event === null ? [] : [event]));
  const there = await remainsOf(reader, events, by);
  const kept: number[] = [];
  const byTenant = new Map<TenantId, Forgettable>();
  for (const { event, offset } of entries) {
    if (event === null) continue;
    const { isThere, note } = there.of(event, offset);
    if (isThere) kept.push(offset);
    if (note === null) continue;
    const forgettable = byTenant.get(event.tenantId) ?? nothingOf(event.tenantId);
    byTenant.set(event.tenantId, forgettable);
    note(forgettable);
  }
  return { kept, forgettable: [...byTenant.values()] };
}

/** Records that have ended by the horizon, found otherwise than by their events, with what was reported of them. */
export async function forgettableOf(
  reader: Reader,
  tenantId: TenantId,
  ids: readonly string[],
  by: Judging,
): Promise<Forgettable> {
  const forgettable = nothingOf(tenantId);
  const records = await recordsOf(reader, ids);
  const reports = await reportsOf(reader, [...records.values()]);
  for (const record of records.values())
    if (!isWaiting(record) && !isHeld(record, by))
      noteEnded(forgettable, record.id, record, reports.get(reportsIdOf(placeOf(record))));
  return forgettable;
}

/** Of these batches those of which no notification is there. */
export async function batchesOver(
  reader: Reader,
  tenantId: TenantId,
  batchIds: readonly BatchId[],
  partitions: number,
): Promise<Forgettable> {
  const forgettable = nothingOf(tenantId);
  const countsOf = new Map(batchIds.map((id) => [id, countsIds(tenantId, id, partitions)]));
  const counts = await documentsOf(reader, batchesCollection.name, [...countsOf.values()].flat());
  for (const [id, ids] of countsOf) if (!ids.some((one) => counts.has(one))) forgettable.batchIds.add(id);
  return forgettable;
}

/** It is still to be sent, or being sent. What only later events told of waits for nothing. */
function isWaiting(record: NotificationDocument): boolean {
  return isListed(record) && !ended.has(record.status);
}

export const endedStatuses = ['DELIVERED', 'FAILED', 'CANCELLED'] as const;
const ended: ReadonlySet<string> = new Set(endedStatuses);

type Note = (to: Forgettable) => void;

interface Remains {
  of(event: DomainEvent, offset: number): { isThere: boolean; note: Note | null };
}

const gone = { isThere: false, note: null };
const stays = { isThere: true, note: null };

async function remainsOf(
  reader: Reader,
  events: readonly DomainEvent[],
  { now, horizon, partitions, daysBefore }: JudgedBy,
): Promise<Remains> {
  const countsOf = ({ tenantId, batchId }: BatchAccepted) => countsIds(tenantId, batchId, partitions);
  const ids = new Set<string>();
  const reportIds = new Set<string>();
  const batchIds = new Set<string>();
  const inboxIds = new Set<string>();
  const readIds = new Set<NotificationId>();
  const cellIds = new Set<string>();
  for (const event of events) {
    if ('notificationId' in event) {
      ids.add(event.notificationId);
      reportIds.add(reportsIdOf(event));
    }
    if (event.type === 'BatchAccepted') for (const id of [event.batchId, ...countsOf(event)]) batchIds.add(id);
    if (event.type === 'InboxRead' || event.type === 'AttemptSucceeded')
      inboxIds.add(inboxId(event.tenantId, event.recipient));
    if (event.type === 'InboxRead') for (const id of event.notificationIds) readIds.add(id);
    if (event.type === 'NotificationsForgotten') for (const id of keptIds(event, daysOf(event))) cellIds.add(id);
  }
  const items = await itemsOf(reader, [...readIds]);
  const records = await recordsOf(reader, [...new Set([...ids, ...items.keys()])]);
  const reports = await documentsOf<ReportsDocument>(reader, reportsCollection.name, [...reportIds]);
  const batches = await documentsOf(reader, batchesCollection.name, [...batchIds]);
  const inboxes = await documentsOf<InboxDocument>(reader, inboxesCollection.name, [...inboxIds]);
  // A day may be kept for what was reported on it alone.
  const cells = new Set<string>();
  for (const { name } of [statisticsCollection, reportCellsCollection])
    for (const id of (await documentsOf(reader, name, [...cellIds])).keys()) cells.add(id);
  const links = events.flatMap((event) => (event.type === 'NotificationsForgotten' ? [event.partition] : []));
  const lastLinks = new Set<string>();
  for (const partition of new Set(links)) lastLinks.add((await lastForgotten(reader, partition))?.eventId ?? '');

  /** The marks of a recipient's streams follow from the last event of each kind. */
  const isMark = (event: DomainEvent, offset: number): boolean => {
    if (event.type !== 'InboxRead' && event.type !== 'AttemptSucceeded') return false;
    const inbox = inboxes.get(inboxId(event.tenantId, event.recipient));
    return offset === (event.type === 'InboxRead' ? inbox?.lastReadOffset : inbox?.lastSequence);
  };

  return {
    of(event, offset) {
      if (event.type === 'BatchAccepted') {
        const { batchId } = event;
        if (!batches.has(batchId)) return gone;
        // Of whichever number: some wait.
        if (countsOf(event).some((id) => batches.has(id))) return stays;
        return { isThere: true, note: (to) => to.batchIds.add(batchId) };
      }
      if (event.type === 'NotificationsForgotten') {
        const days = daysOf(event).filter((_, i) => cells.has(keptIds(event, daysOf(event))[i] ?? ''));
        const over = days.filter((at) => daysBefore !== null && at < daysBefore);
        // The last link of the chain stays: the next one follows it, in every rebuild too.
        if (over.length === 0) return days.length > 0 || lastLinks.has(event.eventId) ? stays : gone;
        return { isThere: true, note: (to) => over.forEach((at) => to.endedDays.add(at)) };
      }
      if (isNotificationEvent(event) || event.type === 'ProviderReported') {
        const record = records.get(event.notificationId);
        const report = reports.get(reportsIdOf(event));
        const isOwn = record?.tenantId === event.tenantId;
        if (isOwn && (isWaiting(record) || isHeld(record, { now, horizon }))) return stays;
        if (isOwn && isKeptForItsKey(record.id, record.requestedAt, now)) return stays;
        if (!isOwn && report === undefined) return isMark(event, offset) ? stays : gone;
        return { isThere: true, note: (to) => noteEnded(to, event.notificationId, isOwn ? record : undefined, report) };
      }
      if (event.type === 'InboxRead') {
        const left = event.notificationIds.filter((id) => items.get(id)?.tenantId === event.tenantId);
        // It was read while it was forgotten: the item that is there is what this event alone made of it.
        const unasked = left.filter((id) => items.get(id)?.listedAt === null && !records.has(id));
        if (unasked.length > 0)
          return { isThere: true, note: (to) => unasked.forEach((id) => noteEnded(to, id, undefined, undefined)) };
        if (left.length > 0) return stays;
      }
      return isMark(event, offset) ? stays : gone;
    },
  };
}

function daysOf(event: DomainEvent & { readonly type: 'NotificationsForgotten' }): number[] {
  return event.kept.map(({ at }) => at);
}

function noteEnded(
  { notifications }: Forgettable,
  id: NotificationId,
  record: NotificationDocument | undefined,
  report: ReportsDocument | undefined,
): void {
  notifications.set(id, { record: record ?? null, report: report ?? null });
}

function nothingOf(tenantId: TenantId): Forgettable {
  return { tenantId, notifications: new Map(), batchIds: new Set(), endedDays: new Set() };
}

function placeOf({ tenantId, id }: NotificationDocument) {
  return { tenantId, notificationId: id };
}

function reportsOf(reader: Reader, records: readonly NotificationDocument[]): Promise<Map<string, ReportsDocument>> {
  const ids = records.map((record) => reportsIdOf(placeOf(record)));
  return documentsOf<ReportsDocument>(reader, reportsCollection.name, ids);
}

type Item = Pick<InboxItemDocument, 'tenantId' | 'listedAt'>;

async function itemsOf(reader: Reader, ids: readonly NotificationId[]): Promise<ReadonlyMap<string, Item>> {
  return ids.length === 0
    ? new Map()
    : reader.get<Item>(itemsCollection.name, ids, { fields: ['tenantId', 'listedAt'] });
}

/** Without their contents, which are most of them. */
function recordsOf(reader: Reader, ids: readonly string[]): Promise<Map<string, NotificationDocument>> {
  return documentsOf<NotificationDocument>(reader, notificationsCollection.name, ids, withoutContent);
}

function withoutContent(record: NotificationDocument): NotificationDocument {
  return { ...record, request: null };
}

/** Of what is read at a time; a record is 3.3 MiB at most. */
const bytesMax = 512 * 1024;

async function documentsOf<D extends Document>(
  reader: Reader,
  collection: string,
  ids: readonly string[],
  held: (document: D) => D = (document) => document,
): Promise<Map<string, D>> {
  if (ids.length === 0) return new Map();
  try {
    const only = ids.length === 1 ? {} : { bytesMax, orRefuse: true as const };
    const found = await reader.get<D>(collection, ids, only);
    return new Map([...found].map(([id, document]) => [id, held(document)]));
  } catch (error) {
    if (!(error instanceof TooManyBytesError)) throw error;
    const half = Math.ceil(ids.length / 2);
    const first = await documentsOf(reader, collection, ids.slice(0, half), held);
    return new Map([...first, ...(await documentsOf(reader, collection, ids.slice(half), held))]);
  }
}
