// Brings a dashboard's stream up to date: what the log has of its tenant behind its marks, read from the log, told once the read model has it.
//
//   marks ──> ends of the log ──> read what is between, in the order of time ──> wait for the read model ──> tell, as fast as it is read

import type { TenantId } from '../domain/ids.ts';
import { createStatusFilter } from '../domain/status-change.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import { waitUntil } from '../projections/wait.ts';
import type { Announcement } from './dashboard-announcements.ts';
import { announcementOf, inOrderOfTime } from './dashboard-announcements.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import type { LogEnds } from './log-ends.ts';
import { createLogEnds } from './log-ends.ts';
import { createCatchUpTurns } from './catch-up-turns.ts';

export interface CatchUpDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends'>;
  readonly reader: ReadModelReader;
  readonly clock: Clock;
}

/** A stream that has missed more begins anew: reading so many takes the log a second or two. Other tenants' events of its numbers count. */
const eventsMissedMax = 20_000;
/** So many streams at once, one of a tenant: with at most 20,000 announcements of 500 bytes each 160 MB, if all were the tenant's own. */
const atOnceMax = 16;
/** For the read model to have what the log has. */
const foldedWithinMs = 10_000;

export function createCatchUp({ log, reader, clock }: CatchUpDependencies) {
  const { definition, topics } = notificationsReadModel;
  const takeTurn = createCatchUpTurns(atOnceMax);
  const endsNow = createLogEnds(log, topics);

  const slotsBehind = (marks: DashboardMarks, ends: LogEnds) =>
    topics.flatMap((topic) =>
      marks.partitions
        .map((partition) => ({
          topic,
          partition,
          from: marks.offset(topic, partition),
          to: ends.get(topic)?.[partition] ?? 0,
        }))
        .filter(({ from, to }) => from < to),
    );
  type Slots = ReturnType<typeof slotsBehind>;

  const readSlots = async (tenantId: TenantId, slots: Slots): Promise<Announcement[]> => {
    const found: Announcement[] = [];
    for (const slot of slots) {
      for await (const entry of log.read(slot)) {
        if (entry.event?.tenantId !== tenantId) continue;
        const announcement = announcementOf(entry);
        if (announcement !== null) found.push(announcement);
      }
    }
    return inOrderOfTime(found);
  };

  const areFolded = async (slots: Slots): Promise<boolean> => {
    for (const partition of new Set(slots.map((slot) => slot.partition))) {
      const folded = await reader.positions(definition.name, partition);
      if (slots.some((slot) => slot.partition === partition && (folded.get(slot.topic) ?? 0) < slot.to)) return false;
    }
    return true;
  };

  /**
   * Tells what the log has by now; what comes from now on is the caller's. False when the stream can't be brought up to date.
   * Rejects when the log or the read model is away.
   */
  return async (tenantId: TenantId, marks: DashboardMarks, told: Told): Promise<boolean> => {
    const slots = slotsBehind(marks, await endsNow());
    if (slots.reduce((sum, { from, to }) => sum + (to - from), 0) > eventsMissedMax) {
      for (const { topic, partition, to } of slots) marks.pass({ topic, partition, offset: to - 1 });
      told.began({ isWhole: false });
      return true;
    }
    told.began({ isWhole: true });
    if (slots.length === 0) return true;
    let isDone = false;
    await takeTurn(tenantId, async () => {
      const filter = createStatusFilter(eventsMissedMax);
      const missed = await readSlots(tenantId, slots);
      isDone = await waitUntil({ reader, clock }, definition.name, foldedWithinMs, () => areFolded(slots));
      if (!isDone) return;
      for (const one of missed) if (filter.isLater(one.notificationId, one.change)) await told.missed(one);
    });
    return isDone;
  };
}

export interface Told {
  /** `isWhole` false: too much was missed, the stream goes on from the log's end. */
  began(how: { readonly isWhole: boolean }): void;
  missed(announcement: Announcement): Promise<void>;
}
