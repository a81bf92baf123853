// The dashboard's live streams: each change of a notification's status, once the read model has it, so that a GET never knows less than a stream.
//
//   log.tail ──> announcement ──> waits for the read model's position ──> every stream of the tenant
//   a stream's marks ──> dashboard-catch-up.ts ──> that stream alone; what is announced meanwhile is held for it

import type { TenantId } from '../domain/ids.ts';
import { createStatusFilter } from '../domain/status-change.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import { notificationsReadModel, recordTopics } from '../projections/notifications/index.ts';
import type { Announcement } from './dashboard-announcements.ts';
import { announcementOf, inOrderOfTime } from './dashboard-announcements.ts';
import type { CatchUpDependencies } from './dashboard-catch-up.ts';
import { createCatchUp } from './dashboard-catch-up.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import { parseDashboardMarks } from './dashboard-marks.ts';
import type { EventStream } from './event-stream.ts';
import type { LogEnds } from './log-ends.ts';
import { createLogEnds } from './log-ends.ts';
import { foldedMarks } from './stream-position.ts';
import { positionsOf } from '../projections/wait.ts';

interface Dependencies extends CatchUpDependencies {
  readonly log: Pick<EventLog, 'tail' | 'read' | 'ends' | 'partitioning'>;
  readonly logger: Logger;
}

/** Announcements waiting for the read model; past it (it stands still) the streams end and their clients look anew. 20,000 of 500 bytes: 10 MB. */
const waitingMax = 20_000;
/** Held for a stream that is brought up to date; past it, it ends, and is resumed later. 2,000 of 500 bytes, shared with other streams: 1 MB. */
const heldMax = 2000;
/** Notifications whose last announced status is remembered: 50,000 of about 100 bytes. */
const rememberedMax = 50_000;
const lateMs = 100;
/** Before another try, when the read model can't be read. */
const retryMs = 1000;

/** Where a stream begins. */
export interface DashboardBeginning {
  readonly marks: DashboardMarks;
  /** `lost`: it was to be resumed, and can't be. */
  readonly resumes: 'no' | 'yes' | 'lost';
}

interface Listener {
  readonly stream: EventStream;
  readonly marks: DashboardMarks;
  /** What is announced while it is brought up to date; null from then on. */
  held: Announcement[] | null;
}

export type DashboardStreams = ReturnType<typeof createDashboardStreams>;

/** Follows the log only while somebody listens. */
export function createDashboardStreams(deps: Dependencies) {
  const { log, reader, turns, logger } = deps;
  const catchUp = createCatchUp(deps);
  const endsNow = createLogEnds(log, recordTopics);
  const listeners = new Map<TenantId, Set<Listener>>();
  const { name } = notificationsReadModel.definition;
  let waiting: Announcement[] = [];
  let stop: (() => void) | null = null;
  let filter = createStatusFilter(rememberedMax);
  let isTelling = false;
  let isChanged = false;
  let late: NodeJS.Timeout | null = null;

  const take = (entry: LogEntry): void => {
    if (entry.head === null || !listeners.has(entry.head.tenantId)) return;
    const announcement = announcementOf(entry);
    if (announcement === null) return;
    waiting.push(announcement);
    // The read model may have been faster than the tail, and then tells of no change any more.
    tellIn(lateMs);
    if (waiting.length <= waitingMax) return;
    logger.warn('dashboard streams end: the read model does not keep up', { waiting: waiting.length });
    waiting = [];
    for (const ofTenant of listeners.values()) for (const { stream } of ofTenant) stream.end();
  };

  const tellIn = (ms: number): void => {
    late ??= setTimeout(() => {
      late = null;
      void tell();
    }, ms);
  };

  /** Tells what the read model has by now. One run at a time; a change meanwhile makes another. */
  const tell = async (): Promise<void> => {
    isChanged = true;
    if (isTelling) return;
    isTelling = true;
    try {
      while (isChanged) {
        isChanged = false;
        const folded = await foldedPositions();
        const announcements = inOrderOfTime(waiting);
        waiting = [];
        const later: Announcement[] = [];
        for (const one of announcements) if (!(await announceIfFolded(one, folded))) later.push(one);
        waiting = later.length === 0 ? waiting : [...later, ...waiting];
      }
    } catch (err) {
      logger.warn('the dashboard streams wait for the read model', { err });
      if (waiting.length > 0) tellIn(retryMs);
    } finally {
      isTelling = false;
    }
  };

  const foldedPositions = async () => {
    const places = new Map(waiting.map((one) => [placeKey(one), one]));
    return new Map(
      await Promise.all([...places].map(async ([key, one]) => [key, await positionsOf(reader, name, one)] as const)),
    );
  };

  type Folded = Awaited<ReturnType<typeof foldedPositions>>;

  /** One after another, so that each stream has them in their order; whoever else is on the thread has its turn between streams. */
  const announceIfFolded = async (one: Announcement, folded: Folded): Promise<boolean> => {
    if ((folded.get(placeKey(one))?.get(one.topic) ?? 0) <= one.offset) return false;
    if (!filter.isLater(one.notificationId, one.change)) return true;
    for (const listener of listeners.get(one.tenantId) ?? []) {
      if (turns.as(one.tenantId, turns.isOver)) await turns.as(one.tenantId, turns.next);
      if (listener.held === null) turns.as(one.tenantId, () => turns.piece(() => tellOne(listener, one)));
      else hold(listener, listener.held, one);
    }
    return true;
  };

  const bringUpToDate = async (
    tenantId: TenantId,
    listener: Listener,
    resumes: DashboardBeginning['resumes'],
  ): Promise<void> => {
    const { stream, marks } = listener;
    try {
      const isDone = await catchUp(tenantId, marks, {
        began: ({ isWhole }) => sayConnected(tenantId, listener, resumes === 'lost' || (resumes === 'yes' && !isWhole)),
        async missed(one) {
          const isOpen = await stream.room();
          if (isOpen) turns.as(tenantId, () => turns.piece(() => tellOne(listener, one)));
          return isOpen;
        },
      });
      if (!isDone) return stream.end();
      const held = listener.held ?? [];
      listener.held = null;
      for (const one of held) tellOne(listener, one);
    } catch (err) {
      logger.warn('a dashboard stream could not be brought up to date', { tenantId, err });
      stream.end();
    }
  };

  const start = (): void => {
    const untail = log.tail(recordTopics, take);
    const unsubscribe = reader.onChange(name, () => void tell());
    stop = () => {
      untail();
      unsubscribe();
      if (late !== null) clearTimeout(late);
      late = null;
      waiting = [];
      filter = createStatusFilter(rememberedMax);
    };
  };

  return {
    /** @param lastEventId null: from now on. @throws DomainError BAD_REQUEST for what is no id of such a stream */
    async beginning(tenantId: TenantId, lastEventId: string | null): Promise<DashboardBeginning> {
      const partitions = partitionsOfTenant(tenantId, log.partitioning);
      const resumed = lastEventId === null ? null : parseDashboardMarks(lastEventId, partitions);
      if (resumed !== null && !isBeyond(resumed, await endsNow())) return { marks: resumed, resumes: 'yes' };
      const { marks } = await foldedMarks(reader, tenantId, partitions);
      return { marks, resumes: lastEventId === null ? 'no' : 'lost' };
    },

    /** Sends the tenant's changes behind the marks. Returns the call that ends it. */
    add(tenantId: TenantId, stream: EventStream, { marks, resumes }: DashboardBeginning): () => void {
      const ofTenant = listeners.get(tenantId) ?? new Set();
      const listener: Listener = { stream, marks, held: [] };
      listeners.set(tenantId, ofTenant.add(listener));
      if (stop === null) start();
      void bringUpToDate(tenantId, listener, resumes);
      return () => {
        ofTenant.delete(listener);
        if (ofTenant.size === 0 && listeners.get(tenantId) === ofTenant) listeners.delete(tenantId);
        if (listeners.size > 0) return;
        stop?.();
        stop = null;
      };
    },
  };
}

/** The log was put back from an earlier time, or is another one: nothing can be gone on from. */
function isBeyond(marks: DashboardMarks, ends: LogEnds): boolean {
  return [...ends].some(([topic, byNumber]) =>
    marks.partitions.some((partition) => marks.offset(topic, partition) > (byNumber[partition] ?? 0)),
  );
}

/** Where a tenant's events of a number are folded up to. */
function placeKey({ tenantId, partition }: Announcement): string {
  return `${tenantId} ${partition}`;
}

/** It carries an id, so that a stream that is cut before the first change is resumed as well. */
function sayConnected(tenantId: TenantId, { stream, marks }: Listener, hasGap: boolean): void {
  stream.send({ id: marks.text, data: { event: 'connected', tenantId, ...(hasGap ? { gap: true } : {}) } });
}

function tellOne({ stream, marks }: Listener, one: Announcement): void {
  if (marks.pass(one)) stream.send({ id: marks.text, json: one.json });
}

function hold({ stream }: Listener, held: Announcement[], one: Announcement): void {
  if (held.push(one) > heldMax) stream.end();
}
