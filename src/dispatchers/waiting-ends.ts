// What ends while it waits for its turn, its tenant's rate or its provider: it has expired, or a person wants it stopped. What reading waits for meanwhile
// waits elsewhere from then on.

import { isExpired } from '../domain/delivery-request.ts';
import type { Cancels } from '../ports/cancels.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { expired, newAttempt } from './attempt.ts';
import type { AttemptReport } from './attempt-report.ts';
import type { Endings } from './endings.ts';
import type { Lanes } from './lanes.ts';
import { noProviderName } from './means.ts';
import type { OutcomeEvent, OutcomeEvents } from './outcome-events.ts';
import type { PutOff } from './put-off.ts';
import type { Standing } from './standing.ts';
import type { UnderWay } from './under-way.ts';
import { finishItem } from './work-item.ts';
import type { WorkItem } from './work-item.ts';

export interface WaitingEndsDependencies {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly logger: Pick<Logger, 'debug'>;
  readonly lanes: Pick<Lanes<WorkItem>, 'removeWhere'>;
  readonly underWay: Pick<UnderWay, 'add'>;
  readonly outcomeEvents: Pick<OutcomeEvents, 'ended' | 'cancelled'>;
  readonly standing: Standing;
  readonly report: AttemptReport;
  readonly say: Endings['say'];
  readonly putOff: PutOff;
  /** Absent: nobody can ask for one. */
  readonly cancels?: Cancels;
  /** What may wait for its turn. */
  readonly takeIn: (item: WorkItem) => void;
}

export interface WaitingEnds {
  /** What was read too late ends at once. */
  expire(item: WorkItem): void;
  /** Whether it stood in the log for a while, where nobody looked for a cancel of it: then that is looked for, and what goes on is taken in afterwards. */
  looksFirst(item: WorkItem): boolean;
  /** Looks through all that waits, once in a while: what waits for its tenant's provider or rate doesn't wait for its turn to end. */
  look(now: number): void;
}

/** What waits is looked through so often: a pass over all that is read ahead, under a ms; and, where something is due, a read of an index for each number. */
const lookEveryMs = 1_000;
/** What became due is read in some ms; what was there for longer waited in a backlog, in the surplus or for a process. */
const promptMs = 250;
/** A store that doesn't answer holds up what can be sent for so long at most. */
const firstLookMaxMs = 1_000;

export function createWaitingEnds(by: WaitingEndsDependencies): WaitingEnds {
  const { clock, logger, lanes, underWay, outcomeEvents, standing, report, say, putOff, cancels, takeIn } = by;
  let lookedAt = -Infinity;
  let isAsking = false;
  /** At most as many as are read ahead. */
  let unseen: WorkItem[] = [];
  let isLookingFirst = false;

  function end(item: WorkItem, event: OutcomeEvent): void {
    underWay.add(item);
    void say(event, item);
  }

  function expire(item: WorkItem): void {
    const event = outcomeEvents.ended(newAttempt(item, clock), noProviderName, expired(item));
    report(event);
    end(item, event);
  }

  function removed(isMeant: (item: WorkItem) => boolean): WorkItem[] {
    const items: WorkItem[] = [];
    lanes.removeWhere((item) => isMeant(item) && items.push(item) > 0);
    return items;
  }

  /** Only what a timer has made due can have been cancelled by then: for what waits in a timer the scheduler decides. */
  function dueOnes(): WorkItem[] {
    const items: WorkItem[] = [];
    lanes.removeWhere((item) => isDue(item) && items.push(item) < 0);
    return items;
  }

  async function endCancelled(known: Cancels): Promise<void> {
    for (const [partition, items] of Map.groupBy(dueOnes(), ({ event }) => event.partition)) {
      const stopped = await askedOf(known, partition, items);
      // It may have begun meanwhile, or be another's: what still waits here nobody else begins.
      if (stopped.size === 0 || !standing.isSure()) continue;
      for (const item of removed((item) => isDue(item) && stopped.has(keyOf(item.event))))
        end(item, outcomeEvents.cancelled(item));
    }
  }

  /** Those that come meanwhile are looked for together. Never rejects. */
  async function lookFirst(known: Cancels): Promise<void> {
    isLookingFirst = true;
    while (unseen.length > 0) {
      const items = unseen;
      unseen = [];
      const found = await findInTime(known, items);
      for (const item of items) goOn(item, found);
    }
    isLookingFirst = false;
  }

  async function findInTime(known: Cancels, items: readonly WorkItem[]): Promise<Found> {
    const isOver = new AbortController();
    try {
      const late = clock.sleep(firstLookMaxMs, isOver.signal).then(() => nothingFound);
      return await Promise.race([find(known, items), late]);
    } catch (err) {
      logger.debug('cancels of what was read can not be had', { err });
      return nothingFound;
    } finally {
      isOver.abort();
    }
  }

  function goOn(item: WorkItem, { stopped, ended }: Found): void {
    const key = keyOf(item.event);
    if (item.number.isOver) return;
    if (ended.has(key)) return finishItem(item);
    if (stopped.has(key) && standing.isSure()) end(item, outcomeEvents.cancelled(item));
    else takeIn(item);
  }

  return {
    expire,
    looksFirst(item) {
      if (cancels === undefined || !isDue(item) || clock.now() - item.event.occurredAt < promptMs) return false;
      unseen.push(item);
      if (!isLookingFirst) void lookFirst(cancels);
      return true;
    },
    look(now) {
      if (now - lookedAt < lookEveryMs || !standing.isSure()) return;
      lookedAt = now;
      const at = clock.now();
      for (const item of removed(({ event }) => isExpired(event, at))) expire(item);
      for (const item of removed(isInReadingsWay)) putOff(item);
      if (cancels === undefined || isAsking) return;
      isAsking = true;
      endCancelled(cancels)
        // The store is away, which readiness says: the next look may find it.
        .catch((err: unknown) => logger.debug('cancels of what waits can not be had', { err }))
        .finally(() => (isAsking = false));
    },
  };
}

function isInReadingsWay({ tracker, event, offset, bytes }: WorkItem): boolean {
  return tracker.isInReadingsWay({ tenantId: event.tenantId, offset, bytes });
}

/** By notification and round. */
interface Found {
  readonly stopped: ReadonlySet<string>;
  /** What the position's text had no room for: it was done before the restart. */
  readonly ended: ReadonlySet<string>;
}

const nothingFound: Found = { stopped: new Set(), ended: new Set() };

async function find(cancels: Cancels, items: readonly WorkItem[]): Promise<Found> {
  const stopped = new Set<string>();
  for (const [partition, own] of Map.groupBy(items, ({ event }) => event.partition))
    for (const key of await askedOf(cancels, partition, own)) stopped.add(key);
  const ofBefore = items.filter(({ tracker }) => tracker.isRestoring());
  if (ofBefore.length === 0) return { stopped, ended: new Set() };
  const due = ofBefore.map(({ event: { notificationId, round }, attempt }) => ({ notificationId, round, attempt }));
  return { stopped, ended: new Set((await cancels.ended(due)).map(keyOf)) };
}

async function askedOf({ asked }: Cancels, partition: number, items: readonly WorkItem[]): Promise<Set<string>> {
  const waiting = items.map(({ event }) => event.notificationId);
  return new Set((await asked(partition, waiting)).map(keyOf));
}

const isDue = ({ event }: WorkItem): boolean => event.type === 'DeliveryDue';

const keyOf = ({ notificationId, round }: { readonly notificationId: string; readonly round: number }): string =>
  `${notificationId} ${round}`;
