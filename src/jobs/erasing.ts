// A recipient erased: of the notifications that were requested by the time it was asked for nothing is left but that there were some.
//
//   records, the newest first ──> RecipientErased, a page at a time; what waits is cancelled
//     └──> the log, from its start ──> what no record tells of: suppressions, reports, dead letters; and each event's bytes are written over, where that can be
//            └──> what the files held of them before is overwritten
//
// Every step may be taken twice: an event names the same ids again, bytes that are as they should be are left.

import type { Erasure } from '../commands/start-erasure.ts';
import { endsThen, erasureOf, isOf } from '../commands/start-erasure.ts';
import type { DomainEvent, InboxRead } from '../domain/events.ts';
import { erasedIdsMax, isErased } from '../domain/erasure.ts';
import type { EventId, NotificationId, TenantId } from '../domain/ids.ts';
import { isOfWholeTenant } from '../domain/job.ts';
import { statuses } from '../domain/notification.ts';
import { placesInLog } from '../domain/topics.ts';
import type { LogEntry, Position } from '../ports/event-log.ts';
import type { StoredJob } from '../ports/job-store.ts';
import type { InboxItemDocument } from '../projections/inbox/documents.ts';
import { itemsCollection } from '../projections/inbox/documents.ts';
import { readModels } from '../projections/index.ts';
import { waitForPosition } from '../projections/wait.ts';
import { erasingTenant } from './erasing-tenant.ts';
import { erasedCount, eventsRead } from './erasure-progress.ts';
import { erasedReadEvents, erasedReadMs, recordsWaitMs } from './limits.ts';
import type { ReadOn, Work, WorkDependencies } from './work.ts';

export function erasing(deps: WorkDependencies): Work {
  const { commands, reader, clock, log, secretBox, bytes, metrics } = deps;
  const readOnOfTenant = erasingTenant(deps);

  const erase = async ({ tenantId }: StoredJob, { actor }: Erasure, named: Named): Promise<Position[]> => {
    const positions: Position[] = [];
    for (const { partition, ids, eventIds } of inEvents(named))
      positions.push(await commands.eraseNotifications({ tenantId, actor, partition, notificationIds: ids, eventIds }));
    return positions;
  };

  /** As long as is waited for anything of the records: it stands in the log, whoever takes longer meets it later. */
  const whenFolded = async (tenantId: TenantId, positions: readonly Position[]): Promise<void> => {
    const waits = readModels.flatMap((readModel) =>
      positions.map((position) =>
        waitForPosition({ reader, clock }, readModel, { ...position, tenantId }, recordsWaitMs),
      ),
    );
    await Promise.all(waits);
  };

  /** Of the items that were read those that an inbox still has under the recipient's name, though no record tells of them. */
  const itemsLeft = async ({ tenantId, recipient }: Erasure & Pick<StoredJob, 'tenantId'>, { readIds }: Found) => {
    if (readIds.size === 0) return [];
    const fields = ['tenantId', 'recipient'] as const;
    const items = await reader.get<Item>(itemsCollection.name, [...readIds], { fields });
    return [...readIds].filter((id) => items.get(id)?.tenantId === tenantId && items.get(id)?.recipient === recipient);
  };

  /** Answers where to go on, null: that was all of it; and how many it has named that no record told of. */
  const readPartition = async (
    job: StoredJob,
    from: Position,
    { end, endThen, until }: { readonly end: number; readonly endThen: number; readonly until: number },
  ) => {
    const { tenantId, createdAt } = job;
    const { topic, partition, offset } = from;
    const erasure = erasureOf(job, secretBox);
    const found: Found = { partition, ids: new Set(), eventIds: new Set(), readIds: new Set() };
    const stale: Position[] = [];
    let next = offset;
    let isRead = true;
    // Of erased tenants too, though nothing of theirs is asked for: within a long stretch of theirs the bounds hold as well.
    for await (const entry of log.read({ topic, partition, from: offset, to: end, ofErased: 'shown' })) {
      next = entry.offset + 1;
      if (!log.isTenantErased(tenantId) && isStale(entry, { tenantId, createdAt, endThen, ...erasure }, found))
        stale.push(entry);
      isRead = next >= end;
      const isFull = Math.max(stale.length, found.ids.size, found.readIds.size) >= erasedIdsMax;
      if (next - offset >= erasedReadEvents || isFull || clock.monotonic() >= until) break;
    }
    const named = found.ids.size;
    for (const id of await itemsLeft({ tenantId, ...erasure }, found)) found.ids.add(id);
    await erase(job, erasure, found);
    await bytes?.overwrite(stale);
    metrics.increment(eventsRead, {}, next - offset);
    metrics.increment(erasedCount, {}, named);
    return { next: isRead ? null : next, named };
  };

  return {
    statuses,
    filterOf(job) {
      const { channel, recipient } = erasureOf(job, secretBox);
      return { channel, recipient, to: job.createdAt + 1 };
    },
    isDone: isErased,
    async act(job, records) {
      const erasure = erasureOf(job, secretBox);
      const meant = records.filter((record) => isOf(erasure, record));
      const { tenantId, trace } = job;
      const { actor } = erasure;
      const of = { tenantId, actor, traceparent: trace.traceparent };
      const positions = await commands.eraseRecords({ ...of, records: meant });
      metrics.increment(erasedCount, {}, meant.length);
      await whenFolded(tenantId, positions);
      return { done: meant.length, skipped: records.length - meant.length, failed: 0 };
    },
    async readOn(job, mark, takesLong): Promise<ReadOn> {
      if (isOfWholeTenant(job)) return readOnOfTenant(job, mark, takesLong);
      const until = clock.monotonic() + erasedReadMs;
      let { place, offset } = mark;
      // Whoever else has erased some of them, all that there were are.
      let done = Math.max(job.done, job.total - job.skipped - job.failed);
      for (const at of placesInLog(job.tenantId, log.partitioning).slice(place)) {
        const end = (await log.ends(at.topic, [at.partition]))[at.partition] ?? 0;
        const endThen = endsThen(job)[place] ?? 0;
        const read = offset < end ? await readPartition(job, { ...at, offset }, { end, endThen, until }) : allRead;
        done += read.named;
        if (read.next !== null) return { next: { kind: 'log', place, offset: read.next }, done };
        place++;
        offset = 0;
        if (clock.monotonic() >= until) return { next: { kind: 'log', place, offset }, done };
      }
      const isOver = bytes === null || (await takesLong(bytes.scrub));
      return { next: isOver ? { kind: 'end' } : { kind: 'log', place, offset }, done };
    },
  };
}

const allRead = { next: null, named: 0 };

/** Of one partition number. */
interface Named {
  readonly partition: number;
  readonly ids: Set<NotificationId>;
  readonly eventIds: Set<EventId>;
}

interface Found extends Named {
  /** Named by what was read and is shown erased, of whoever it was. */
  readonly readIds: Set<NotificationId>;
}

type Item = Pick<InboxItemDocument, 'tenantId' | 'recipient'>;

/** So many as one event names. */
function inEvents({ partition, ids, eventIds }: Named) {
  const [all, events] = [[...ids], [...eventIds]];
  const count = Math.ceil(Math.max(all.length, events.length) / erasedIdsMax);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i * erasedIdsMax, (i + 1) * erasedIdsMax];
    return { partition, ids: all.slice(from, to), eventIds: events.slice(from, to) };
  });
}

interface Meant extends Erasure {
  readonly tenantId: TenantId;
  /** UTC ms: what was requested by then. */
  readonly createdAt: number;
  /** Where the partition ended then: what stands before it was there, by whatever clock it was requested. */
  readonly endThen: number;
}

/** Whether its bytes are to be written over; what is to be named of it comes to `found`. */
function isStale({ head, event, undecodable, offset }: LogEntry, meant: Meant, found: Found): boolean {
  if (head?.tenantId !== meant.tenantId) return false;
  if (event === null) return undecodable !== null && holds(undecodable.bytes, meant.recipient);
  if (isShownErased(event)) {
    const mayBeIts = event.type === 'InboxRead' && meant.channel === 'IN_APP' && wasThen(event, offset, meant);
    if (mayBeIts) addAll(found.readIds, event);
    return true;
  }
  if (!isAbout(event, offset, meant)) return false;
  // Of an item that was read while retention ended it nothing else tells.
  if (event.type === 'InboxRead') addAll(found.ids, event);
  if ('notificationId' in event && event.type !== 'ProviderReported') found.ids.add(event.notificationId);
  else found.eventIds.add(event.eventId);
  return true;
}

/** By an erasure that was met before: whether its bytes are as it is shown isn't known. */
function isShownErased(event: DomainEvent): boolean {
  if (event.type === 'ProviderReported') return event.recipient === null;
  if (event.type === 'DeadLettered') return event.bytes === '';
  return 'recipient' in event && isErased(event);
}

function addAll(ids: Set<NotificationId>, { notificationIds }: InboxRead): void {
  for (const id of notificationIds) ids.add(id);
}

function wasThen(event: DomainEvent, offset: number, { createdAt, endThen }: Meant): boolean {
  const at = 'requestedAt' in event ? event.requestedAt : event.occurredAt;
  return at <= createdAt || offset < endThen;
}

function isAbout(event: DomainEvent, offset: number, meant: Meant): boolean {
  const { channel, recipient } = meant;
  if (!wasThen(event, offset, meant)) return false;
  if (event.type === 'DeadLettered') return holds(event.bytes, recipient);
  if (event.type === 'InboxRead') return channel === 'IN_APP' && event.recipient === recipient;
  if (!('recipient' in event) || event.recipient === null) return false;
  return isOf(meant, { channel: event.channel, recipient: event.recipient });
}

/** @param bytes base64 */
function holds(bytes: string, recipient: string): boolean {
  return Buffer.from(bytes, 'base64').includes(recipient);
}
