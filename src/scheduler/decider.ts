// Decides what becomes of the timers of one partition number: first by a fenced write, then by the events that say so.
//
//   find due ──> write waiting -> firing | cancelled (epoch-guarded) ──> append DeliveryDue | NotificationCancelled until durable
//
// Whoever takes the number over appends again what stands decided, with the same event ids. One decider, fenced: "cancelled" and "sent" can't both be.

import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { FieldValue, Page, Query, Write } from '../ports/read-model-store.ts';
import type { PartitionFold } from '../projections/partition-fold.ts';
import { backOff } from '../projections/partition-fold.ts';
import type { TimersDocument, Times } from '../projections/timers/document.ts';
import { decide, timersCollection } from '../projections/timers/document.ts';
import type { Decision } from './decisions.ts';
import { decisionsOf } from './decisions.ts';
import { createDueLines } from './due-lines.ts';
import { lastSetAt } from './former-clock.ts';
import { createLeftDecided } from './left-decided.ts';
import type { RequestBudget } from './request-budget.ts';
import { createSteadyTime } from './steady-time.ts';

/** Timers that are decided in one transaction. */
export interface DecidedAtOnce {
  /** By their time. */
  readonly page: number;
  /** In turns, while more are due than a page holds: whoever comes next waits for as many. */
  readonly inTurns: number;
}

export interface DeciderDependencies {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly fold: PartitionFold;
  /** Shared by the numbers of the process. */
  readonly budget: RequestBudget;
  readonly partition: number;
  /** Aborts when the number is lost. */
  readonly signal: AbortSignal;
  /** Whether the number is surely still this process'. */
  isCurrent(): boolean;
  /** Told how many of those looked at are due and not decided yet. */
  noteDue(count: number): void;
  /** Absent: 500, and 200 in turns. */
  readonly decidedAtOnce?: DecidedAtOnce;
}

/** Its calls say false when the number was lost meanwhile: whoever has it now goes on. */
export interface Decider {
  /** Appends again what an earlier owner decided and may not have appended. To be called once everything in the log is folded. */
  resume(): Promise<boolean>;
  /** Takes note of folded documents. */
  noticed(writes: readonly Write[]): void;
  /**
   * Decides documents that are due, as many as there is room for, and removes what is long done. The earliest first; where more are due,
   * tenants in turn.
   */
  decideDue(): Promise<boolean>;
  /** Timers that it has decided so far. */
  readonly decided: number;
  /** ms until there is something to do. */
  waitMs(): number;
}

const batchMax = 500;
const usuallyAtOnce: DecidedAtOnce = { page: batchMax, inTurns: 200 };
/** A repeated cause within this time sets no second timer. */
const keptDoneMs = 7 * 24 * 60 * 60 * 1000;
const pruneEveryMs = 60_000;
/** A wait for a due time is looked at anew this often: the wall clock may jump. */
const waitStepMs = 1000;
/** The wall clock was set back by more: what was set before may stand behind what is to come. */
const setBackMinMs = 1000;
const byDueTime = { fields: ['nextDueAt'], direction: 'ascending' } as const;

export function createDecider(deps: DeciderDependencies): Decider {
  const { clock, fold, partition, budget, noteDue, decidedAtOnce = usuallyAtOnce } = deps;
  /** The least due time that may be in the store; 0: look. */
  let nextDueAt = 0;
  /** Monotonic. */
  let prunedAt = -Infinity;
  const lines = createDueLines({ fold, clock, partition });
  /** More is due than was decided at once. */
  let isBehind = false;
  let decidedInAll = 0;
  const steadyTime = createSteadyTime(clock);
  const leftDecided = createLeftDecided(clock);
  /** How far the delays that were set ahead were looked through, and when, by the monotonic clock; null: begin anew. */
  let sweptTo: readonly FieldValue[] | null = null;
  let sweptAt = -Infinity;

  const times = (): Times => ({ wall: clock.now(), steady: steadyTime.now() });
  const noteSet = ({ timers }: TimersDocument): void => {
    for (const { setAt } of Object.values(timers)) if (setAt !== undefined) steadyTime.seen(setAt);
  };

  const find = (query: Pick<Query, 'range' | 'equals' | 'order' | 'limit' | 'after' | 'bytesMax'>) =>
    fold.find<TimersDocument>({ collection: timersCollection.name, ...query });

  /** The earliest that are due, as many as there is room for; without one, the next to come. */
  const duePage = async (now: number, bytesMax: number): Promise<Page<TimersDocument> | null> => {
    const range = { field: 'nextDueAt', to: now + 1 };
    const due = await find({ equals: { partition }, range, order: byDueTime, limit: decidedAtOnce.page, bytesMax });
    return due === null || due.documents.length > 0 ? due : find({ equals: { partition }, order: byDueTime, limit: 1 });
  };

  /** How many were decided; null when the number was lost. */
  const decideThese = async (documents: readonly TimersDocument[]): Promise<number | null> => {
    for (const document of documents) noteSet(document);
    const now = times();
    const writes: Write[] = [];
    const decisions: Decision[] = [];
    for (const before of documents) {
      const after = decide(before, now);
      if (after === null) continue;
      writes.push(writeOf(after.notificationId, after));
      decisions.push(...decisionsOf(after, now.wall, before));
    }
    if (writes.length === 0) return 0;
    noteDue(writes.length);
    const isDecided = (await fold.write(writes)) && (await appendAll(deps, decisions));
    noteDue(0);
    if (!isDecided) return null;
    reportFired(deps, decisions);
    decidedInAll += writes.length;
    return writes.length;
  };

  /** How many were decided of what is due, in turns; null when the number was lost. */
  const decideInTurns = async (bytes: number): Promise<number | null> => {
    const documents = await lines.next(clock.now(), { documents: decidedAtOnce.inTurns, bytes });
    return documents === null ? null : decideThese(documents);
  };

  const decideBatch = async (bytesMax: number): Promise<boolean> => {
    if (isBehind) {
      const inTurns = await decideInTurns(bytesMax);
      isBehind = inTurns !== 0;
      if (isBehind) return inTurns !== null;
    }
    const now = clock.now();
    const page = await duePage(now, bytesMax);
    const decided = page === null ? null : await decideThese(page.documents);
    if (page === null || decided === null) return false;
    // Decided ones may wait for another timer: the next call looks again.
    nextDueAt = decided > 0 ? 0 : (page.documents[0]?.nextDueAt ?? Number.POSITIVE_INFINITY);
    if (decided === 0 || Number(page.next?.[0] ?? Infinity) > now) return true;
    const isLearnt = await lines.learn();
    isBehind = isLearnt === true;
    return isLearnt !== null;
  };

  /** Delays that were set by a clock that was ahead stand among times to come: looked through a page at a time. */
  const sweepAhead = async (bytesMax: number): Promise<boolean> => {
    const { wall, steady } = times();
    const range = { field: 'nextDueAt', from: wall + 1, to: steady + 1 };
    const after = sweptTo === null ? {} : { after: sweptTo };
    const page = await find({ equals: { partition }, range, order: byDueTime, limit: batchMax, bytesMax, ...after });
    sweptTo = page?.next ?? null;
    sweptAt = clock.monotonic();
    return page !== null && (await decideThese(page.documents)) !== null;
  };

  const isSweepDue = (): boolean => {
    const { wall, steady } = times();
    return steady - wall > setBackMinMs && clock.monotonic() - sweptAt >= waitStepMs;
  };

  /** Of those that stand decided. */
  const decidedPage = (after: readonly FieldValue[] | null, bytesMax: number) => {
    const order = { fields: [], direction: 'ascending' } as const;
    const from = after === null ? {} : { after };
    return find({ equals: { partition, decided: 1 }, order, limit: batchMax, bytesMax, ...from });
  };

  const sayAgain = (documents: readonly TimersDocument[]): Promise<boolean> =>
    appendAll(
      deps,
      documents.flatMap((document) => decisionsOf(document, clock.now(), null)),
    );

  const resumePage = async (after: readonly FieldValue[] | null, bytesMax: number) => {
    const page = await decidedPage(after, bytesMax);
    return page !== null && (await sayAgain(page.documents)) ? page : null;
  };

  const sayLeft = async (bytesMax: number): Promise<boolean> => {
    if (!(await fold.atEnd())) {
      leftDecided.passBy();
      return true;
    }
    const page = await decidedPage(null, bytesMax);
    if (page === null) return false;
    const left = leftDecided.of(page.documents);
    if (left.length > 0)
      deps.logger.warn('timers that stand decided are said again', { partition, documents: left.length });
    return sayAgain(left);
  };

  const within = async <T>(work: (bytesMax: number) => Promise<T>): Promise<T> => {
    const share = budget.take();
    try {
      return await work(share.bytes);
    } finally {
      share.giveBack();
    }
  };

  const prune = async (): Promise<boolean> => {
    const range = { field: 'doneAt', to: clock.now() - keptDoneMs };
    const order = { fields: ['doneAt'], direction: 'ascending' } as const;
    const page = await find({ equals: { partition }, range, order, limit: batchMax });
    if (page === null) return false;
    const writes = page.documents.map(({ notificationId }) => writeOf(notificationId, null));
    if (page.next === null) prunedAt = clock.monotonic();
    return writes.length === 0 || fold.write(writes);
  };

  return {
    async resume() {
      const setAt = await lastSetAt(deps);
      if (setAt !== null) steadyTime.seen(setAt);
      let after: readonly FieldValue[] | null = null;
      do {
        const from: readonly FieldValue[] | null = after;
        const page: Page<TimersDocument> | null = await within((bytesMax) => resumePage(from, bytesMax));
        if (page === null) return false;
        after = page.next;
      } while (after !== null);
      return true;
    },
    noticed(writes) {
      for (const { document } of writes) {
        const folded = document as TimersDocument | null;
        if (folded === null) continue;
        noteSet(folded);
        lines.note(folded);
        const dueAt = folded.nextDueAt;
        if (dueAt !== null) nextDueAt = Math.min(nextDueAt, dueAt);
      }
    },
    async decideDue() {
      if (nextDueAt <= clock.now() && !(await within(decideBatch))) return false;
      if (isSweepDue() && !(await within(sweepAhead))) return false;
      if (leftDecided.waitMs() === 0 && !(await within(sayLeft))) return false;
      return clock.monotonic() - prunedAt < pruneEveryMs || prune();
    },
    get decided() {
      return decidedInAll;
    },
    waitMs() {
      const now = clock.now();
      const untilDueMs = Math.min(nextDueAt - now, nextDueAt === Number.POSITIVE_INFINITY ? pruneEveryMs : waitStepMs);
      return Math.max(0, Math.min(untilDueMs, prunedAt + pruneEveryMs - clock.monotonic(), leftDecided.waitMs()));
    },
  };
}

function reportFired({ clock, metrics }: DeciderDependencies, decisions: readonly Decision[]): void {
  const now = clock.now();
  let fired = 0;
  for (const decision of decisions) {
    if (decision.type !== 'DeliveryDue') continue;
    fired++;
    metrics.observe('herald_timer_late_seconds', Math.max(0, now - decision.dueAt) / 1000);
  }
  metrics.increment('herald_timers_fired_total', {}, fired);
}

function writeOf(id: string, document: TimersDocument | null): Write {
  return { collection: timersCollection.name, id, document };
}

/**
 * Appended again until durable, however long the log is away. By whoever surely has the number: what a process says that slept for longer than its group waits for
 * it may have been said and answered since, and a dispatcher that has come by then doesn't know of it.
 */
async function appendAll(deps: DeciderDependencies, decisions: readonly Decision[]): Promise<boolean> {
  let left = decisions;
  for (let failures = 1; left.length > 0; failures++) {
    if (!(await isSurelyOurs(deps))) return false;
    const results = await Promise.all(left.map((event) => deps.log.append(event)));
    left = left.filter((_, i) => results[i]?.kind !== 'durable');
    if (left.length === 0) return true;
    if (deps.signal.aborted) return false;
    deps.logger.warn('decided timers wait for the log', { partition: deps.partition, events: left.length, failures });
    await backOff(deps.clock, failures, deps.signal);
  }
  return true;
}

const askEveryMs = 100;

/** False once the number is lost. */
async function isSurelyOurs({ clock, logger, partition, signal, isCurrent }: DeciderDependencies): Promise<boolean> {
  if (!isCurrent() && !signal.aborted) logger.warn('decided timers wait until their group has answered', { partition });
  while (!isCurrent() && !signal.aborted) await clock.sleep(askEveryMs, signal);
  return !signal.aborted;
}
