// A tenant's history as a call asks for it: which offsets of which partitions, and the cursor that goes on behind what was told.

import { badField } from '../domain/errors.ts';
import type { NotificationId, TenantId } from '../domain/ids.ts';
import { timeOfNotificationId } from '../domain/ids.ts';
import { deliveriesTopic, inboxTopic, workTopic } from '../domain/topics.ts';
import type { HistoryRange, TenantHistory } from '../history/tenant-history.ts';
import { openTenantHistory } from '../history/tenant-history.ts';
import type { HistoryType, Slot } from '../history/tenant-slots.ts';
import { canHold, slotsOf } from '../history/tenant-slots.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { getNotification } from '../projections/notifications/queries.ts';
import type { Cursors } from './cursor.ts';
import { answeringUnavailable } from './errors.ts';

export interface HistoryQuery {
  /** UTC ms of the append. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly type?: HistoryType | undefined;
  readonly notificationId?: NotificationId | undefined;
  readonly cursor?: string | undefined;
}

export interface HistoryBudget {
  readonly passedMax: number;
  isOver(): boolean;
}

/** What stands behind what was told. */
export interface HistoryEnd {
  /** null: all that was asked for, and there now, was told. */
  readonly nextCursor: string | null;
  /** The same place, also at the end: for whoever asks later what has come since. */
  readonly endCursor: string | null;
  /** What the cursor stood at is deleted, or the log was put back from an earlier time and ended before it. */
  readonly hasGap: boolean;
}

export interface ReadHistory extends Pick<TenantHistory, 'peek' | 'take' | 'close'> {
  end(): Promise<HistoryEnd>;
}

interface Dependencies {
  readonly log: EventLog;
  readonly reader: ReadModelReader;
  readonly cursors: Cursors;
  readonly turns: ThreadTurns;
  readonly logger: Logger;
}

/** An event is appended by another clock than its notification was accepted by. */
const clockSkewMs = 60_000;

export function createHistoryReading({ log, reader, cursors, turns, logger }: Dependencies) {
  const { partitioning } = log;
  const asking = answeringUnavailable(
    { ends: log.ends.bind(log), offsetAt: log.offsetAt.bind(log), holds: (position: Position) => holds(log, position) },
    'the event log',
    logger,
  );

  /** The partitions in which anything that is asked for can be, and since when. */
  const placesOf = async (tenantId: TenantId, { type, notificationId, from = 0 }: HistoryQuery) => {
    const isOfType = (slot: Slot) => type === undefined || canHold(slot, type);
    if (notificationId === undefined) return { isRead: isOfType, since: from };
    const found = await getNotification(reader, tenantId, notificationId);
    const requestedAt = found?.requestedAt ?? timeOfNotificationId(notificationId);
    const since = Math.max(from, requestedAt - clockSkewMs);
    if (found === null) return { isRead: isOfType, since };
    const topics = [workTopic(found.channel, found.priority), deliveriesTopic, inboxTopic];
    const isRead = (slot: Slot) => slot.partition === found.partition && topics.includes(slot.topic) && isOfType(slot);
    return { isRead, since };
  };

  const endsOf = async (slots: readonly Slot[]) => {
    const topics = [...new Set(slots.map(({ topic }) => topic))];
    const numbers = [...new Set(slots.map(({ partition }) => partition))];
    const ends = await Promise.all(topics.map((topic) => asking.ends(topic, numbers)));
    return new Map(topics.map((topic, i) => [topic, ends[i] ?? []]));
  };

  const rangeOf = async ({ topic, partition, from, since, end, to }: Bounds): Promise<HistoryRange> => {
    const until = to === undefined ? end : Math.min(end, await asking.offsetAt(topic, partition, to));
    const begin = Math.min(end, from ?? (since > 0 ? await asking.offsetAt(topic, partition, since) : 0));
    return { topic, partition, from: begin, to: Math.max(begin, until) };
  };

  /** @throws DomainError BAD_REQUEST for a cursor that isn't of this tenant and these filters; SERVICE_UNAVAILABLE */
  return async (tenantId: TenantId, query: HistoryQuery, budget: HistoryBudget): Promise<ReadHistory> => {
    const { type = null, notificationId = null, cursor, to } = query;
    const slots = slotsOf(tenantId, partitioning);
    const scope = { tenantId, list: 'events' };
    const after = cursor === undefined ? null : offsetsOf(cursors.decode(cursor, scope), slots.length);
    const { isRead, since } = await placesOf(tenantId, query);
    const read = slots.flatMap((slot, i) => (isRead(slot) ? [{ slot, i }] : []));
    const ends = await endsOf(read.map(({ slot }) => slot));
    const bounds = read.map(({ slot, i }): Bounds => {
      const end = ends.get(slot.topic)?.[slot.partition] ?? 0;
      return { ...slot, from: after?.[i] ?? null, since, end, to };
    });
    const ranges = await Promise.all(bounds.map(rangeOf));
    const asked = { tenantId, ranges, type, notificationId, ...budget };
    const history = answeringUnavailable(openTenantHistory({ log, turns }, asked), 'the event log', logger);

    /** A cursor stands at an event, or where the log ended: whoever's that event is, a log that doesn't hold it has deleted it. Of an erased tenant it is only passed over. */
    const hasGap = async (): Promise<boolean> => {
      if (after === null) return false;
      if (bounds.some(({ from, end }) => from !== null && from > end)) return true;
      const begins = history.beginnings();
      const moved = ranges.filter(({ from }, i) => (begins[i] ?? from) > from);
      const there = await Promise.all(
        moved.map(({ topic, partition, from: offset }) => asking.holds({ topic, partition, offset })),
      );
      return there.includes(false);
    };

    return {
      peek: history.peek,
      take: history.take,
      close: history.close,
      async end() {
        const offsets = [...(after ?? slots.map(() => 0))];
        const places = history.places();
        for (const [n, { i }] of read.entries()) offsets[i] = places[n] ?? 0;
        const endCursor = cursors.encode(offsets, scope);
        return { nextCursor: history.isAtEnd() ? null : endCursor, endCursor, hasGap: await hasGap() };
      },
    };
  };
}

async function holds(log: Pick<EventLog, 'read'>, { offset, ...place }: Position): Promise<boolean> {
  for await (const _ of log.read({ ...place, from: offset, to: offset + 1, ofErased: 'shown' })) return true;
  return false;
}

interface Bounds extends Slot {
  /** By a cursor; null: by `since`. */
  readonly from: number | null;
  readonly since: number;
  readonly end: number;
  readonly to: number | undefined;
}

function offsetsOf(key: readonly unknown[], count: number): readonly number[] {
  const offsets = key.filter((offset) => typeof offset === 'number');
  // Of a log that had other topics.
  if (offsets.length !== count || key.length !== count) throw badField('cursor', 'must be a nextCursor of this list');
  return offsets;
}
