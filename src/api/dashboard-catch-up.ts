// Brings a dashboard's stream up to date: what the log has of its tenant behind its marks, read from the log, told once the read model has it.
//
//   marks ──> ends of the log ──> the tenant's turn ──> read what is between, in the order of time ──> wait for the read model ──> leave out what is overtaken by what was told ──> tell, as fast as it is read
//
// Whatever streams of a tenant wait for its turn are read for once, together.

import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { Status } from '../domain/notification.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { notificationsReadModel, recordTopics } from '../projections/notifications/index.ts';
import { positionsOf, waitUntil } from '../projections/wait.ts';
import type { Announcement, Slot, Told } from './dashboard-announcements.ts';
import { readAnnouncements } from './dashboard-announcements.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import type { Further } from './dashboard-overtaken.ts';
import { furtherOf, isPutOff, presentOf, presentTold, withoutComing } from './dashboard-overtaken.ts';
import type { LogEnds } from './log-ends.ts';
import { createLogEnds } from './log-ends.ts';
import { createCatchUpTurns } from './catch-up-turns.ts';

export interface CatchUpDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends'>;
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
  readonly clock: Clock;
}

/** A stream that has missed more begins anew: reading so many takes the log a second or two. Other tenants' events of its numbers count. */
export const eventsMissedMax = 20_000;
/** So many readings at once, one of a tenant: with at most 20,000 announcements of 500 bytes each 160 MB, if all were the tenant's own. */
const atOnceMax = 16;
/** For the read model to have what the log has. */
const foldedWithinMs = 10_000;
/** For a reader to take what it missed: at most 10 MB. */
const toldWithinMs = 10_000;

export function createCatchUp({ log, reader, turns, clock }: CatchUpDependencies) {
  const { definition } = notificationsReadModel;
  const takeTurn = createCatchUpTurns(atOnceMax, clock);
  /** Streams that are behind, until their tenant's turn: they are read for together. */
  const waitingOf = new Map<TenantId, readonly Waiting[]>();
  const endsNow = createLogEnds(log, recordTopics);

  const areFolded = async (tenantId: TenantId, slots: Slots): Promise<boolean> => {
    for (const partition of new Set(slots.map((slot) => slot.partition))) {
      const folded = await positionsOf(reader, definition.name, { tenantId, partition });
      if (slots.some((slot) => slot.partition === partition && (folded.get(slot.topic) ?? 0) < slot.to)) return false;
    }
    return true;
  };

  /** Those who wait, as many as one reading of the log serves. Answers the ms that it took. */
  const bringUp = async (tenantId: TenantId): Promise<number> => {
    const { together, slots, others } = taken(waitingOf.get(tenantId) ?? []);
    if (others.length > 0) waitingOf.set(tenantId, others);
    else waitingOf.delete(tenantId);
    if (others.length > 0) void bringUpInTurn(tenantId);
    const startedAt = clock.monotonic();
    try {
      const missed = await readAnnouncements(log, tenantId, slots);
      const tookMs = clock.monotonic() - startedAt;
      const areThere = await waitUntil({ reader, clock }, definition.name, foldedWithinMs, () =>
        areFolded(tenantId, slots),
      );
      if (areThere) return tookMs + (await tellAll(tenantId, together, missed));
      for (const one of together) one.end(false);
      return tookMs;
    } catch (err) {
      for (const one of together) one.fail(err);
      return clock.monotonic() - startedAt;
    }
  };

  const bringUpInTurn = (tenantId: TenantId): Promise<void> =>
    takeTurn(tenantId, () => turns.as(tenantId, () => bringUp(tenantId)));

  /** False for a reader that takes too long: others of its tenant wait, and it goes on from where it is when it comes again. */
  const tellInTime = async (one: Waiting, all: readonly Announcement[], further: Further): Promise<boolean> => {
    const over = new AbortController();
    const inTime = clock.sleep(toldWithinMs, over.signal).then(() => false);
    const isTold = await Promise.race([tell(one, all, further), inTime]);
    over.abort();
    return isTold;
  };

  const tell = async (
    { slots, marks: { isNew }, told }: Waiting,
    all: readonly Announcement[],
    { overtaken, deferred, present }: Further,
  ): Promise<boolean> => {
    const lastOf = isNew ? lastOfEach(missedOf(all, slots), overtaken) : nobody;
    for (const one of missedOf(all, slots)) {
      const { notificationId } = one;
      if (!isNew && overtaken.has(notificationId)) {
        told.overtaken(one);
        continue;
      }
      if (turns.isOver()) await turns.next();
      const isBegunNoMore = isPutOff(one, deferred);
      const isLast = lastOf.get(notificationId) === one;
      const byNow = isBegunNoMore || isLast ? await presentTold(reader, notificationId, present) : null;
      // In its place what was put off is told as what it is again, since whoever listens may have seen it begun.
      if (isBegunNoMore && byNow === null) told.overtaken(one);
      else if (!(await told.missed(isBegunNoMore ? { ...one, ...byNow } : one, isLast ? byNow : null))) return false;
    }
    return true;
  };

  /** Answers the ms that looking at the records took. */
  const tellAll = async (
    tenantId: TenantId,
    together: readonly Waiting[],
    all: readonly Announcement[],
  ): Promise<number> => {
    let present: ReadonlyMap<NotificationId, Status> = new Map();
    const tookMs = await turns.spent(tenantId, async () => {
      present = await presentOf({ reader, turns }, all);
    });
    const behind: { readonly one: Waiting; readonly further: Further }[] = [];
    for (const one of together) {
      if (turns.isOver()) await turns.next();
      behind.push({ one, further: furtherOf(missedOf(all, one.slots), present) });
    }
    const isAny = behind.some(({ further: { overtaken, deferred } }) => overtaken.size + deferred.size > 0);
    const coming = isAny ? await readComing(tenantId, together, present) : [];
    await Promise.all(
      behind.map(async ({ one, further }) => {
        const later = coming.filter((each) => each.offset >= endOf(one.ends, each));
        withoutComing(further, later);
        one.end(await tellInTime(one, all, further));
      }),
    );
    return tookMs;
  };

  /** What led to those statuses behind the ends that the streams began with: they hear of it once they are up to date, so that it doesn't overtake what they missed. */
  const readComing = async (
    tenantId: TenantId,
    together: readonly Waiting[],
    present: ReadonlyMap<NotificationId, Status>,
  ): Promise<Announcement[]> => {
    const now = await endsNow();
    const slots = together.map(({ marks, ends }) =>
      slotsBetween(marks.partitions, (topic, partition) => endOf(ends, { topic, partition }), now),
    );
    const all = slots.reduce(union, []);
    if (eventsIn(all) > eventsMissedMax) return [];
    return (await readAnnouncements(log, tenantId, all)).filter(
      (one) => present.get(one.notificationId) === one.change.status,
    );
  };

  /**
   * Tells what the log has by now; what comes from now on is the caller's. False when the stream can't be brought up to date.
   * Rejects when the log or the read model is away.
   */
  return async (tenantId: TenantId, marks: DashboardMarks, told: Teller): Promise<boolean> => {
    const ends = await endsNow();
    const slots = slotsBetween(marks.partitions, marks.offset, ends);
    if (eventsIn(slots) > eventsMissedMax) {
      for (const { topic, partition, to } of slots) marks.pass({ topic, partition, offset: to - 1 });
      told.began({ isWhole: false });
      return true;
    }
    told.began({ isWhole: true });
    if (slots.length === 0) return true;
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<boolean>();
    const others = waitingOf.get(tenantId) ?? [];
    waitingOf.set(tenantId, [...others, { marks, ends, slots, told, end, fail }]);
    if (others.length === 0) void bringUpInTurn(tenantId);
    return promise;
  };
}

export interface Teller {
  /** `isWhole` false: too much was missed, the stream goes on from the log's end. */
  began(how: { readonly isWhole: boolean }): void;
  /**
   * Once its reader has room; false when it has gone. In the order of time; what isn't later than what was told before isn't news.
   * @param byNow what its notification is by then, where a stream that begins is told the last of what was overtaken: to be told before it counts as told
   */
  missed(announcement: Announcement, byNow: Told | null): Promise<boolean>;
  /** A later status of its notification was told already. */
  overtaken(announcement: Announcement): void;
}

type Slots = readonly Slot[];

/** A stream that is behind. */
interface Waiting {
  readonly marks: Pick<DashboardMarks, 'partitions' | 'isNew'>;
  /** What comes behind them it is told live. */
  readonly ends: LogEnds;
  readonly slots: Slots;
  readonly told: Teller;
  end(isDone: boolean): void;
  fail(err: unknown): void;
}

/** The first, and all who are behind in so much of the same that one reading isn't longer than any stream's may be. */
function taken(waiting: readonly Waiting[]) {
  const together: Waiting[] = [];
  const others: Waiting[] = [];
  let slots: Slots = [];
  for (const one of waiting) {
    const all = union(slots, one.slots);
    const fits = together.length === 0 || eventsIn(all) <= eventsMissedMax;
    if (fits) slots = all;
    (fits ? together : others).push(one);
  }
  return { together, slots, others };
}

function slotsBetween(
  partitions: readonly number[],
  from: (topic: Topic, partition: number) => number,
  ends: LogEnds,
): Slots {
  return recordTopics.flatMap((topic) =>
    partitions
      .map((partition) => ({
        topic,
        partition,
        from: from(topic, partition),
        to: endOf(ends, { topic, partition }),
      }))
      .filter(({ from, to }) => from < to),
  );
}

type Place = Pick<Slot, 'topic' | 'partition'>;

function endOf(ends: LogEnds, { topic, partition }: Place): number {
  return ends.get(topic)?.[partition] ?? 0;
}

/** Of what was read for many streams what one of them is behind in. */
function* missedOf(all: readonly Announcement[], slots: Slots): Generator<Announcement> {
  const fromOf = new Map(slots.map(({ topic, partition, from }) => [`${topic} ${partition}`, from]));
  for (const one of all) if (one.offset >= (fromOf.get(`${one.topic} ${one.partition}`) ?? Infinity)) yield one;
}

const nobody: ReadonlyMap<NotificationId, Announcement> = new Map();

/** Of these notifications the last that is told. */
function lastOfEach(announcements: Iterable<Announcement>, ids: ReadonlySet<NotificationId>) {
  const last = new Map<NotificationId, Announcement>();
  for (const one of announcements) if (ids.has(one.notificationId)) last.set(one.notificationId, one);
  return last;
}

function union(a: Slots, b: Slots): Slots {
  const groups = Map.groupBy([...a, ...b], ({ topic, partition }) => `${topic} ${partition}`);
  return [...groups.values()].flatMap(([first, second]) => {
    if (first === undefined || second === undefined) return first ?? [];
    return [{ ...first, from: Math.min(first.from, second.from), to: Math.max(first.to, second.to) }];
  });
}

function eventsIn(slots: Slots): number {
  return slots.reduce((sum, { from, to }) => sum + (to - from), 0);
}
