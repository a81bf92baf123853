// Brings a dashboard's stream up to date: what the log has of its tenant behind its marks, read from the log, told once the read model has it.
//
//   marks ──> ends of the log ──> the tenant's turn ──> read what is between, in the order of time ──> wait for the read model ──> tell, as fast as it is read
//
// Whatever streams of a tenant wait for its turn are read for once, together.

import type { TenantId } from '../domain/ids.ts';
import { createStatusFilter } from '../domain/status-change.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import { notificationsReadModel, recordTopics } from '../projections/notifications/index.ts';
import { positionsOf, waitUntil } from '../projections/wait.ts';
import type { Announcement } from './dashboard-announcements.ts';
import { announcementOf, inOrderOfTime } from './dashboard-announcements.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
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
const eventsMissedMax = 20_000;
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

  const slotsBehind = (marks: DashboardMarks, ends: LogEnds): Slots =>
    recordTopics.flatMap((topic) =>
      marks.partitions
        .map((partition) => ({
          topic,
          partition,
          from: marks.offset(topic, partition),
          to: ends.get(topic)?.[partition] ?? 0,
        }))
        .filter(({ from, to }) => from < to),
    );

  const readSlots = async (tenantId: TenantId, slots: Slots): Promise<Announcement[]> => {
    const found: Announcement[] = [];
    for (const slot of slots) {
      for await (const entry of log.read(slot)) {
        if (entry.head?.tenantId !== tenantId) continue;
        const announcement = announcementOf(entry);
        if (announcement !== null) found.push(announcement);
      }
    }
    return inOrderOfTime(found);
  };

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
      const missed = await readSlots(tenantId, slots);
      const tookMs = clock.monotonic() - startedAt;
      const areThere = await waitUntil({ reader, clock }, definition.name, foldedWithinMs, () =>
        areFolded(tenantId, slots),
      );
      await Promise.all(together.map(async (one) => one.end(areThere && (await tellInTime(one, missed)))));
      return tookMs;
    } catch (err) {
      for (const one of together) one.fail(err);
      return clock.monotonic() - startedAt;
    }
  };

  const bringUpInTurn = (tenantId: TenantId): Promise<void> =>
    takeTurn(tenantId, () => turns.as(tenantId, () => bringUp(tenantId)));

  /** False for a reader that takes too long: others of its tenant wait, and it goes on from where it is when it comes again. */
  const tellInTime = async (one: Waiting, missed: readonly Announcement[]): Promise<boolean> => {
    const over = new AbortController();
    const inTime = clock.sleep(toldWithinMs, over.signal).then(() => false);
    const isTold = await Promise.race([tell(one, missed), inTime]);
    over.abort();
    return isTold;
  };

  const tell = async ({ slots, told }: Waiting, missed: readonly Announcement[]): Promise<boolean> => {
    const filter = createStatusFilter(() => eventsMissedMax);
    const fromOf = new Map(slots.map(({ topic, partition, from }) => [`${topic} ${partition}`, from]));
    for (const one of missed) {
      if (one.offset < (fromOf.get(`${one.topic} ${one.partition}`) ?? Infinity)) continue;
      if (!filter.isLater(one.notificationId, one.change)) continue;
      if (turns.isOver()) await turns.next();
      if (!(await told.missed(one))) return false;
    }
    return true;
  };

  /**
   * Tells what the log has by now; what comes from now on is the caller's. False when the stream can't be brought up to date.
   * Rejects when the log or the read model is away.
   */
  return async (tenantId: TenantId, marks: DashboardMarks, told: Told): Promise<boolean> => {
    const slots = slotsBehind(marks, await endsNow());
    if (eventsIn(slots) > eventsMissedMax) {
      for (const { topic, partition, to } of slots) marks.pass({ topic, partition, offset: to - 1 });
      told.began({ isWhole: false });
      return true;
    }
    told.began({ isWhole: true });
    if (slots.length === 0) return true;
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<boolean>();
    const others = waitingOf.get(tenantId) ?? [];
    waitingOf.set(tenantId, [...others, { slots, told, end, fail }]);
    if (others.length === 0) void bringUpInTurn(tenantId);
    return promise;
  };
}

export interface Told {
  /** `isWhole` false: too much was missed, the stream goes on from the log's end. */
  began(how: { readonly isWhole: boolean }): void;
  /** Once its reader has room; false when it has gone. */
  missed(announcement: Announcement): Promise<boolean>;
}

/** A part of the log. */
interface Slot {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

type Slots = readonly Slot[];

/** A stream that is behind. */
interface Waiting {
  readonly slots: Slots;
  readonly told: Told;
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
