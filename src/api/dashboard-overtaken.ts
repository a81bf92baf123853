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

/**
 * Those whose record has another status than the last of these changes leads to: a later one was told already, or is to come. By the status alone, since
 * what changes it to and fro between two topics never leads to the same one.
 */
export function overtakenOf(
  announcements: Iterable<Announcement>,
  present: ReadonlyMap<NotificationId, Status>,
): Set<NotificationId> {
  const last = new Map<NotificationId, StatusChange>();
  for (const { notificationId, change } of announcements) {
    const before = last.get(notificationId);
    if (before === undefined || before.rank < change.rank) last.set(notificationId, change);
  }
  const overtaken = new Set<NotificationId>();
  for (const [id, { status }] of last) if ((present.get(id) ?? status) !== status) overtaken.add(id);
  return overtaken;
}
