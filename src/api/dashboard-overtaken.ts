// Which notifications have got further than what is about to be told of them: topics are read side by side, so that the work that one was begun by may come after its outcome was told.

import type { NotificationId } from '../domain/ids.ts';
import type { Status } from '../domain/notification.ts';
import type { StatusChange } from '../domain/status-change.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { recordsOf, statusesOf } from '../projections/notifications/queries.ts';
import type { Announcement, Told } from './dashboard-announcements.ts';
import { presentAnnouncementOf } from './dashboard-announcements.ts';

/** Of a page a few ms of the thread. */
const pageMax = 500;

interface Records {
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
}

/** What their records say now, which have these changes at least. One that isn't kept any more is absent. */
export async function presentOf(
  { reader, turns }: Records,
  announcements: readonly Announcement[],
): Promise<ReadonlyMap<NotificationId, Status>> {
  const ids = [...new Set(announcements.map((one) => one.notificationId))];
  const present = new Map<NotificationId, Status>();
  for (let i = 0; i < ids.length; i += pageMax) {
    if (turns.isOver()) await turns.next();
    const page = ids.slice(i, i + pageMax);
    for (const [id, status] of await statusesOf(reader, page)) present.set(id, status);
  }
  return present;
}

/** The same as it is told; null where its status isn't that any more: what has led to another is to come. Of 3.3 MiB at most. */
export async function presentTold(
  reader: ReadModelReader,
  id: NotificationId,
  present: ReadonlyMap<NotificationId, Status>,
): Promise<Told | null> {
  const facts = (await recordsOf(reader, [id])).get(id);
  return facts !== undefined && facts.status === present.get(id) ? presentAnnouncementOf(facts) : null;
}

/** Where records are further than what was missed of them, and what each is. */
export interface Further {
  /** By what was told already, or is to come. */
  readonly overtaken: Set<NotificationId>;
  /** Put off since they were last begun, which nothing else is told of: the rank of that beginning, which isn't so any more. */
  readonly deferred: Map<NotificationId, number>;
  readonly present: ReadonlyMap<NotificationId, Status>;
}

/**
 * Those whose record has another status than the last of these changes leads to. By the status alone, since what changes it to and fro between two topics never
 * leads to the same one. Back from PROCESSING to what it was before goes by a deferral alone: that is no change that is told.
 */
export function furtherOf(
  announcements: Iterable<Announcement>,
  present: ReadonlyMap<NotificationId, Status>,
): Further {
  const last = new Map<NotificationId, StatusChange>();
  for (const { notificationId, change } of announcements) {
    const before = last.get(notificationId);
    if (before === undefined || before.rank < change.rank) last.set(notificationId, change);
  }
  const overtaken = new Set<NotificationId>();
  const deferred = new Map<NotificationId, number>();
  for (const [id, { status, rank }] of last) {
    const byNow = present.get(id) ?? status;
    if (status === 'PROCESSING' && (byNow === 'QUEUED' || byNow === 'RETRYING')) deferred.set(id, rank);
    else if (byNow !== status) overtaken.add(id);
  }
  return { overtaken, deferred, present };
}

/** What leads to the status that the record has is still to come, and is told then. */
export function withoutComing({ overtaken, deferred, present }: Further, coming: Iterable<Told>): void {
  for (const { notificationId, change } of coming) {
    if (present.get(notificationId) !== change.status) continue;
    overtaken.delete(notificationId);
    deferred.delete(notificationId);
  }
}

/** Whether it is the beginning that its notification was put off after. */
export function isPutOff({ notificationId, change }: Told, deferred: Further['deferred']): boolean {
  return change.rank >= (deferred.get(notificationId) ?? Infinity);
}
