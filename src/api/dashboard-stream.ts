// The dashboard's live streams: each change of a notification's status, once the read model has it, so that a GET never knows less than a stream.
//
//   log.tail ──> announcement ──> waits for the read model's position ──> every stream of the tenant: each tenant's by themselves, however many others' there are
//   a stream's marks ──> dashboard-catch-up.ts ──> that stream alone; what is announced meanwhile is held for it

import type { TenantId } from '../domain/ids.ts';
import { createStatusFilter, type StatusFilter } from '../domain/status-change.ts';
import type { Topic } from '../domain/topics.ts';
import { partitionsOfTenant } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import { notificationsReadModel, recordTopics } from '../projections/notifications/index.ts';
import type { Announcement, Slot } from './dashboard-announcements.ts';
import { announcementOf, readAnnouncements } from './dashboard-announcements.ts';
import type { CatchUpDependencies } from './dashboard-catch-up.ts';
import { eventsMissedMax } from './dashboard-catch-up.ts';
import type { DashboardBeginning, Listener } from './dashboard-listener.ts';
import { createBringUp, hold, listenerOf, tellOne } from './dashboard-listener.ts';
import type { DashboardMarks } from './dashboard-marks.ts';
import { parseDashboardMarks } from './dashboard-marks.ts';
import type { Further } from './dashboard-overtaken.ts';
import { furtherOf, isPutOff, presentOf, withoutComing } from './dashboard-overtaken.ts';
import type { DashboardWaiting, WaitingSum } from './dashboard-waiting.ts';
import { createDashboardWaiting } from './dashboard-waiting.ts';
import type { EventStream } from './event-stream.ts';
import type { LogEnds } from './log-ends.ts';
import { createLogEnds } from './log-ends.ts';
import { foldedMarks } from './stream-position.ts';
import { positionsOf } from '../projections/wait.ts';

interface Dependencies extends CatchUpDependencies {
  readonly log: Pick<EventLog, 'tail' | 'read' | 'ends' | 'partitioning'>;
  readonly logger: Logger;
}

/** Announcements waiting for the read model; past it (it stands still) the streams of the tenant with most of them end, and their clients look anew. 20,000 of 500 bytes: 10 MB. */
const waitingMax = 20_000;
/** Notifications whose last announced status is remembered, over all tenants with a stream, in equal parts: 50,000 of about 100 bytes. */
const rememberedMax = 50_000;
/** Of each, however many they are: 10 KB, less than a stream takes. */
const rememberedMin = 100;
const lateMs = 100;
/** Before another try, when the read model can't be read. */
const retryMs = 1000;

/** A tenant with streams. */
interface Listening {
  readonly listeners: Set<Listener>;
  readonly waiting: DashboardWaiting;
  readonly filter: StatusFilter;
  isTelling: boolean;
  /** Something has come or was folded since that telling began. */
  isChanged: boolean;
}

const nobody: Further = { overtaken: new Set(), deferred: new Map(), present: new Map() };

export type DashboardStreams = ReturnType<typeof createDashboardStreams>;

/** Follows the log only while somebody listens. */
export function createDashboardStreams(deps: Dependencies) {
  const { log, reader, turns, logger } = deps;
  const bringUpToDate = createBringUp(deps);
  const endsNow = createLogEnds(log, recordTopics);
  const tenants = new Map<TenantId, Listening>();
  const sum: WaitingSum = { announcements: 0 };
  /** By topic and partition number, up to where the tail has brought it. */
  const tailed = new Map<Topic, number[]>(recordTopics.map((topic) => [topic, []]));
  const { name } = notificationsReadModel.definition;
  let stop: (() => void) | null = null;
  let late: NodeJS.Timeout | null = null;

  const take = (entry: LogEntry): void => {
    const brought = tailed.get(entry.topic);
    if (brought !== undefined) brought[entry.partition] = entry.offset + 1;
    const of = entry.head === null ? undefined : tenants.get(entry.head.tenantId);
    const announcement = of === undefined ? null : announcementOf(entry);
    if (of === undefined || announcement === null) return;
    of.waiting.add(announcement);
    // The read model may have been faster than the tail, and then tells of no change any more.
    tellIn(lateMs);
    if (sum.announcements > waitingMax) endMost();
  };

  /** Of whoever has most, since nobody else is why. */
  const endMost = (): void => {
    let most: [TenantId, Listening] | null = null;
    for (const one of tenants) if (one[1].waiting.size > (most?.[1].waiting.size ?? 0)) most = one;
    if (most === null) return;
    const [tenantId, { waiting, listeners }] = most;
    logger.warn('dashboard streams of a tenant end: the read model does not keep up', {
      tenantId,
      waiting: waiting.size,
    });
    waiting.clear();
    for (const { stream } of listeners) stream.end();
  };

  const tellIn = (ms: number): void => {
    late ??= setTimeout(() => {
      late = null;
      tellAll();
    }, ms);
  };

  const tellAll = (): void => {
    for (const [tenantId, of] of tenants) if (of.waiting.size > 0) void tell(tenantId, of);
  };

  /** Tells what the read model has by now of a tenant. One run at a time; a change meanwhile makes another. */
  const tell = async (tenantId: TenantId, of: Listening): Promise<void> => {
    of.isChanged = true;
    if (of.isTelling) return;
    of.isTelling = true;
    try {
      while (of.isChanged) {
        of.isChanged = false;
        const folded = await of.waiting.takeFolded((partition) => positionsOf(reader, name, { tenantId, partition }));
        const further = await turns.as(tenantId, () => furtherNow(tenantId, of, folded));
        for (const one of folded) await announce(of, one, further);
      }
    } catch (err) {
      logger.warn('the dashboard streams wait for the read model', { err });
      if (of.waiting.size > 0) tellIn(retryMs);
    } finally {
      of.isTelling = false;
    }
  };

  /** Of those of which what was told may be forgotten. While the read model is away nobody is: what was taken is told all the same. */
  const furtherNow = async (tenantId: TenantId, of: Listening, folded: readonly Announcement[]): Promise<Further> => {
    const unknown = folded.filter((one) => of.filter.mayHaveForgotten(one.notificationId));
    if (unknown.length === 0) return nobody;
    try {
      const further = furtherOf(unknown, await presentOf({ reader, turns }, unknown));
      if (further.overtaken.size + further.deferred.size === 0) return nobody;
      withoutComing(further, [...(await untailed(tenantId, of)), ...of.waiting]);
      return further;
    } catch {
      return nobody;
    }
  };

  /** What the read model has of it and the tail hasn't brought yet: it is still to be told. */
  const untailed = async (tenantId: TenantId, { listeners }: Listening): Promise<readonly Announcement[]> => {
    const [first] = listeners;
    const slots: Slot[] = [];
    for (const partition of first?.marks.partitions ?? []) {
      const folded = await positionsOf(reader, name, { tenantId, partition });
      for (const topic of recordTopics) {
        // Where the tail has brought nothing so far it begins behind what streams have been told.
        const told = Math.max(...[...listeners].map(({ marks }) => marks.offset(topic, partition)));
        const from = Math.max(told, tailed.get(topic)?.[partition] ?? 0);
        const to = folded.get(topic) ?? 0;
        if (from < to) slots.push({ topic, partition, from, to });
      }
    }
    const events = slots.reduce((count, { from, to }) => count + (to - from), 0);
    return events > eventsMissedMax ? [] : readAnnouncements(log, tenantId, slots);
  };

  /** One after another, so that each stream has them in their order; whoever else is on the thread has its turn between streams. */
  const announce = async ({ filter, listeners }: Listening, one: Announcement, further: Further): Promise<void> => {
    const isPassedOver = further.overtaken.has(one.notificationId) || isPutOff(one, further.deferred);
    if (isPassedOver || !filter.isLater(one.notificationId, one.change)) {
      // It isn't behind any of them that is up to date: else it would be told once they are resumed.
      for (const { marks, held } of listeners) if (held === null) marks.pass(one);
      return;
    }
    for (const listener of listeners) {
      if (turns.as(one.tenantId, turns.isOver)) await turns.as(one.tenantId, turns.next);
      if (listener.held === null) turns.as(one.tenantId, () => turns.piece(() => tellOne(listener, one)));
      else hold(listener, listener.held, one);
    }
  };

  const newListening = (): Listening => ({
    listeners: new Set(),
    waiting: createDashboardWaiting(sum),
    filter: createStatusFilter(() => Math.max(rememberedMin, Math.floor(rememberedMax / tenants.size))),
    isTelling: false,
    isChanged: false,
  });

  const start = (): void => {
    const untail = log.tail(recordTopics, take);
    const unsubscribe = reader.onChange(name, tellAll);
    stop = () => {
      untail();
      for (const brought of tailed.values()) brought.length = 0;
      unsubscribe();
      if (late !== null) clearTimeout(late);
      late = null;
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
      const of = tenants.get(tenantId) ?? newListening();
      const listener = listenerOf(stream, marks);
      of.listeners.add(listener);
      tenants.set(tenantId, of);
      if (stop === null) start();
      void bringUpToDate(tenantId, listener, resumes);
      return () => {
        of.listeners.delete(listener);
        if (of.listeners.size > 0) return;
        of.waiting.clear();
        if (tenants.get(tenantId) === of) tenants.delete(tenantId);
        if (tenants.size > 0) return;
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
