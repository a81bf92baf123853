// What ends while it waits for its turn, its tenant's rate or its provider: it has expired, or a person wants it stopped. What reading waits for meanwhile
// waits elsewhere from then on.

import { isExpired } from '../domain/delivery-request.ts';
import type { AskedCancel, Cancels } from '../ports/cancels.ts';
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
  /** Meanwhile nobody looks. Resolves once the group has answered and what waits was looked through for cancels, for a second at most. */
  lookAfterSilence(): Promise<void>;
}

/** What waits is looked through so often: a pass over all that is read ahead, under a ms; and, where something is due, a read of an index for each number. */
const lookEveryMs = 1_000;
/** What became due is read in some ms; what was there for longer waited in a backlog, in the surplus or for a process. */
const promptMs = 250;
/** A store that doesn't answer holds up what can be sent for so long at most. */
const holdUpMaxMs = 1_000;

export function createWaitingEnds(by: WaitingEndsDependencies): WaitingEnds {
  const { clock, logger, lanes, underWay, outcomeEvents, standing, report, say, putOff, cancels, takeIn } = by;
  let lookedAt = -Infinity;
  /** Of what was just read, and of what waits: neither passes over a number since the other asks for it. */
  const [askFirst, askAgain] = [createAsking(logger), createAsking(logger)];
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

  /** What happens later than now was told by a clock that is ahead: where that is by more than a moment nothing says for how long it stood there. */
  function isPrompt({ event }: WorkItem): boolean {
    return Math.abs(clock.now() - event.occurredAt) < promptMs;
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

  /** Each number's as soon as they are known: one that is slow holds up no other's. Never rejects. */
  async function endCancelled(): Promise<void> {
    if (cancels === undefined) return;
    const ofEach = Map.groupBy(dueOnes(), ({ event }) => event.partition);
    await Promise.all(Array.from(ofEach, ([partition, items]) => endCancelledOf(cancels, partition, items)));
  }

  async function endCancelledOf(known: Cancels, partition: number, items: readonly WorkItem[]): Promise<void> {
    const stopped = await askAgain(partition, () => known.asked(partition, idsOf(items)));
    // It may have begun meanwhile, or be another's: what still waits here nobody else begins.
    if (stopped.size === 0 || !standing.isSure()) return;
    for (const item of removed((item) => isDue(item) && stopped.has(keyOf(item.event))))
      end(item, outcomeEvents.cancelled(item));
  }

  /** Those that come meanwhile are looked for together. Never rejects. */
  async function lookFirst(known: Cancels): Promise<void> {
    isLookingFirst = true;
    while (unseen.length > 0) {
      const items = unseen;
      unseen = [];
      const found: Found = { stopped: new Set(), ended: new Set() };
      await inTime(find(known, items, found));
      for (const item of items) goOn(item, found);
    }
    isLookingFirst = false;
  }

  /** Whatever is known by then counts, though another number's answer is missing. */
  async function find(known: Cancels, items: readonly WorkItem[], found: Found): Promise<void> {
    const answers = Array.from(
      Map.groupBy(items, ({ event }) => event.partition),
      async ([partition, own]) => {
        const stopped = await askFirst(partition, () => known.asked(partition, idsOf(own)));
        for (const key of stopped) found.stopped.add(key);
      },
    );
    await Promise.all([...answers, findEnded(known, items, found)]);
  }

  async function findEnded(known: Cancels, items: readonly WorkItem[], found: Found): Promise<void> {
    const ofBefore = items.filter(({ tracker }) => tracker.isRestoring());
    if (ofBefore.length === 0) return;
    const due = ofBefore.map(({ event: { notificationId, round }, attempt }) => ({ notificationId, round, attempt }));
    for (const key of await askFirst('ended', () => known.ended(due))) found.ended.add(key);
  }

  async function inTime(looking: Promise<void>): Promise<void> {
    const isOver = new AbortController();
    await Promise.race([looking, clock.sleep(holdUpMaxMs, isOver.signal)]);
    isOver.abort();
  }

  function goOn(item: WorkItem, found: Found): void {
    const key = keyOf(item.event);
    if (item.number.isOver) return;
    if (found.ended.has(key)) return finishItem(item);
    if (!found.stopped.has(key)) return takeIn(item);
    if (standing.isSure()) return end(item, outcomeEvents.cancelled(item));
    void standing.sure().then(() => goOn(item, found));
  }

  return {
    expire,
    looksFirst(item) {
      if (cancels === undefined || !isDue(item) || isPrompt(item)) return false;
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
      void endCancelled();
    },
    async lookAfterSilence() {
      await standing.sure();
      await inTime(endCancelled());
    },
  };
}

function isInReadingsWay({ tracker, event, offset, bytes }: WorkItem): boolean {
  return tracker.isInReadingsWay({ tenantId: event.tenantId, offset, bytes });
}

/** By notification and round. */
interface Found {
  readonly stopped: Set<string>;
  /** What the position's text had no room for: it was done before the restart. */
  readonly ended: Set<string>;
}

/** Asks a store that may be slow or away, a number once at a time: as long as it hasn't answered nothing is known. Never rejects. */
function createAsking(logger: WaitingEndsDependencies['logger']) {
  /** The 12 numbers of a group, and what has ended. */
  const underWay = new Set<number | 'ended'>();
  return async (about: number | 'ended', ask: () => Promise<readonly AskedCancel[]>): Promise<ReadonlySet<string>> => {
    if (underWay.has(about)) return new Set();
    underWay.add(about);
    try {
      return new Set((await ask()).map(keyOf));
    } catch (err) {
      // The store is away, which readiness says: the next look may find it.
      logger.debug('cancels can not be had', { about, err });
      return new Set();
    } finally {
      underWay.delete(about);
    }
  };
}

const idsOf = (items: readonly WorkItem[]) => items.map(({ event }) => event.notificationId);

const isDue = ({ event }: WorkItem): boolean => event.type === 'DeliveryDue';

const keyOf = ({ notificationId, round }: { readonly notificationId: string; readonly round: number }): string =>
  `${notificationId} ${round}`;
