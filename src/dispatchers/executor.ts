// Makes a channel's attempts: which item is next, when it may begin, what becomes of it.
//
//   offer ──> lanes ──turn──> permit: settings, breaker, rate ──> send ──> outcome ──> append until durable ──> finished
//               ^                │ not now                       │ deadline: outcome all the same
//               │                v                               └ over 1 s: AttemptStarted is said
//               └─ put back, its tenant held for a while  (for one of a tenant's receivers, or where others would wait: DeliveryDeferred)
//   putOff ──> DeliveryDeferred, until its tenant's turn  (where there is no room for it, and no more tenants may lag)

import { isExpired } from '../domain/delivery-request.ts';
import { isErased } from '../domain/erasure.ts';
import type { Channel, Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Cancels } from '../ports/cancels.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Suppressions } from '../ports/suppressions.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import { beingSent, deadlinePassed, newAttempt, notToBeSent, send } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptReport } from './attempt-report.ts';
import type { Breakers } from './breakers.ts';
import type { Deferrals } from './deferrals.ts';
import { createEndings } from './endings.ts';
import { createHolds } from './holds.ts';
import type { DispatcherLimits } from './limits.ts';
import type { ReadyMeans } from './means.ts';
import { noProviderName } from './means.ts';
import type { OutcomeAppender } from './outcome-appender.ts';
import type { OutcomeEvents } from './outcome-events.ts';
import type { JudgeRefusal } from './outdated-refusals.ts';
import type { AskPermit } from './permits.ts';
import { createPutOff } from './put-off.ts';
import type { PartitionTracker } from './read-ahead.ts';
import type { SayStarted } from './say-started.ts';
import type { Standing } from './standing.ts';
import type { TenantShares } from './tenant-shares.ts';
import { createTurns } from './turns.ts';
import { createUnderWay } from './under-way.ts';
import { createWaitingEnds } from './waiting-ends.ts';
import { ageMs } from './work-item.ts';
import type { WorkItem } from './work-item.ts';

export interface ExecutorDependencies {
  readonly channel: Channel;
  readonly log: Pick<EventLog, 'isErased' | 'isTenantErased'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: DispatcherLimits;
  readonly shares: TenantShares;
  readonly breakers: Breakers;
  readonly deferrals: Pick<Deferrals, 'end'>;
  readonly askPermit: AskPermit;
  readonly judgeRefusal: JudgeRefusal;
  readonly outcomeEvents: OutcomeEvents;
  readonly outcomes: OutcomeAppender;
  readonly sayStarted: SayStarted;
  readonly standing: Standing;
  readonly report: AttemptReport;
  readonly suppressions?: Suppressions;
  readonly cancels?: Cancels;
  readonly unsubscribeLinks?: Pick<UnsubscribeLinks, 'urlOf'>;
  /** A tenant is passed over for a while. */
  readonly noteKept: (tenantId: TenantId) => void;
}

export interface Executor {
  readonly inFlight: number;
  /** Where attempts are being sent that end by their deadline. */
  sending(): ReadonlySet<PartitionTracker>;
  depth(priority: Priority): number;
  /** How long ago the longest waiting item of a lane could have been sent, ms; 0 for an empty one. */
  ageMs(priority: Priority): number;
  /** Takes an item in; it is sent when its turn comes. At most as many as are read ahead. */
  offer(item: WorkItem): void;
  /** No attempt: it waits for its time in the scheduler. */
  defer(item: WorkItem, dueAt: number): void;
  /** There is no room for it here: it waits for its tenant's turn in the scheduler. */
  putOff(item: WorkItem): void;
  /** Removes what has not begun and whose number is over. */
  dropOver(): void;
  /** Resolves once nothing of a number is in flight or waits to be durable. */
  none(partition: number): Promise<void>;
  /** Begins nothing more, whatever waits; resolves when all outcomes are durable, or after the time given. */
  stop(withinMs: number): Promise<void>;
}

/** No attempt starts while an outcome has waited longer than this to be appended. */
const outcomeWaitMaxMs = 1_000;
/** An attempt in flight for longer is said to have started, and is one of those of which a tenant may have a share alone. */
const slowAfterMs = 1_000;
const sweepEveryMs = 100;
/** Begun before the turn that was asked for, for HIGH that was just read: a turn of the event loop is 5 to 20 ms of a thread that has much to do. */
const hastyMax = 4;
/** An attempt that is so far past its deadline isn't ending by itself. */
const overdueMs = 1_000;

export function createExecutor(dependencies: ExecutorDependencies): Executor {
  const { channel, log, clock, logger, limits, askPermit, judgeRefusal, shares } = dependencies;
  const { outcomeEvents, outcomes, sayStarted, standing, suppressions } = dependencies;
  const turns = createTurns<WorkItem>(dependencies);
  const { gate, lanes } = turns;
  const inFlight = new Set<Attempt>();
  const underWay = createUnderWay();
  const stopping = new AbortController();
  const holds = createHolds({ ...dependencies, turns, stopping: stopping.signal, askTurn });
  const endings = createEndings({ ...dependencies, inFlight, turns, underWay, goOn });
  const { land, conclude, returnToLane, say, tellBreaker } = endings;
  const putOff = createPutOff({ ...dependencies, underWay, say, isForgotten });
  const waitingEnds = createWaitingEnds({ ...dependencies, lanes, underWay, say, putOff, takeIn });
  shares.onHeard((tenantId) => {
    holds.release(tenantId);
    if (lanes.depth('HIGH') > 0) beginNow();
  });
  let isTurnAsked = false;
  /** Since the last turn. */
  let hastyBegun = 0;
  let isSweeping = false;
  /** The group doesn't answer, or what waited for it is being looked through. */
  let isSilent = false;
  let noteIdle: (() => void) | null = null;

  function takeIn(item: WorkItem): void {
    const { priority, tenantId } = item.event;
    if (isExpired(item.event, clock.now()) && standing.isSure()) return waitingEnds.expire(item);
    lanes.push(priority, tenantId, item);
    askTurn();
    if (priority === 'HIGH') beginNow();
  }

  function askTurn(): void {
    if (isTurnAsked || stopping.signal.aborted) return;
    isTurnAsked = true;
    setImmediate(turn);
  }

  function turn(): void {
    isTurnAsked = false;
    hastyBegun = 0;
    if (!mayBegin()) return;
    if (!standing.isSure()) return void beginAfterSilence();
    for (let begun = 0; begun < limits.startsPerTurn; begun++) {
      const item = turns.begin();
      if (item === undefined) return;
      begin(item);
    }
    askTurn();
  }

  /** What waits may have been cancelled since the group fell silent. */
  async function beginAfterSilence(): Promise<void> {
    isSilent = true;
    await waitingEnds.lookAfterSilence();
    isSilent = false;
    askTurn();
  }

  function mayBegin(): boolean {
    return !stopping.signal.aborted && !isSilent && outcomes.oldestWaitMs() <= outcomeWaitMaxMs;
  }

  /** Whoever has the next turn has it now: HIGH that has waited for nothing, by its weight, or else the one that it would wait for. */
  function beginNow(): void {
    if (hastyBegun === hastyMax || !mayBegin() || !standing.isSure()) return;
    const item = turns.begin();
    if (item === undefined) return;
    hastyBegun++;
    begin(item);
  }

  function begin(item: WorkItem): void {
    const attempt = newAttempt(item, clock);
    inFlight.add(attempt);
    underWay.add(item);
    if (!isSweeping) void sweep();
    void make(attempt);
  }

  async function make(attempt: Attempt): Promise<void> {
    if (isForgotten(attempt.item)) return conclude(attempt, outcomeEvents.cancelled(attempt.item));
    const never = notToBeSent(attempt.item, clock.now(), suppressions);
    if (never !== null) return land(attempt, noProviderName, never);
    const permit = await askPermit(attempt.item);
    if (permit.kind === 'go') attempt.pass = permit.pass;
    if (attempt.isOver) return tellBreaker(attempt, null);
    if (permit.kind === 'unknown') return putBack(attempt, permit.err);
    const restMs = permit.kind === 'go' || permit.kind === 'rest' ? permit.restMs : null;
    if (restMs !== null) void holds.rest(attempt.item.event.tenantId, restMs);
    // What was lost meanwhile is another's to begin.
    const isOurs = !attempt.item.number.isOver && standing.isSure();
    if (permit.kind === 'rest' || stopping.signal.aborted || !isOurs) return returnToLane(attempt);
    if (permit.kind === 'never') return land(attempt, permit.provider, { kind: 'rejected', reason: permit.reason });
    if (permit.kind === 'defer')
      return conclude(attempt, outcomeEvents.deferred(attempt.item, permit.dueAt, 'breaker'));
    await sendBy(attempt, permit.pass.means);
  }

  /** Its recipient is erased, or its tenant: nothing goes to it any more. */
  function isForgotten({ event }: WorkItem): boolean {
    return isErased(event) || log.isErased(event.notificationId) || log.isTenantErased(event.tenantId);
  }

  async function sendBy(attempt: Attempt, means: ReadyMeans): Promise<void> {
    if (isForgotten(attempt.item)) return conclude(attempt, outcomeEvents.cancelled(attempt.item));
    const never = notToBeSent(attempt.item, clock.now(), suppressions);
    if (never !== null) return land(attempt, noProviderName, never);
    attempt.provider = means.provider.name;
    attempt.role = means.role;
    attempt.startedAt = clock.now();
    attempt.startedMonotonic = clock.monotonic();
    attempt.item.tracker.noteAttempt();
    const outcome = await send(attempt, means, dependencies);
    land(attempt, attempt.provider, await judgeRefusal(attempt.item.event.tenantId, means, outcome));
  }

  /** Not an attempt: the item keeps its place, its tenant is passed over for a while. */
  function putBack(attempt: Attempt, err: unknown): void {
    if (attempt.isOver) return;
    const { tenantId, notificationId } = attempt.item.event;
    logger.warn('the settings can not be had; trying again', { channel, tenantId, notificationId, err });
    holds.awaitSettings(tenantId);
    returnToLane(attempt);
  }

  function goOn(): void {
    askTurn();
    if (noteIdle !== null && isIdle()) noteIdle();
  }

  function isIdle(): boolean {
    return inFlight.size === 0 && outcomes.waiting === 0;
  }

  /** One timer for all deadlines, AttemptStarted and tenants on hold; it runs while there is one of them. */
  async function sweep(): Promise<void> {
    isSweeping = true;
    while (inFlight.size > 0 || (gate.holding > 0 && !stopping.signal.aborted)) {
      await clock.sleep(sweepEveryMs);
      const now = clock.monotonic();
      for (const attempt of inFlight) lookAfter(attempt, now - attempt.startedMonotonic);
      holds.endUntil(now);
      waitingEnds.look(now);
      askTurn();
    }
    isSweeping = false;
  }

  function lookAfter(attempt: Attempt, ageMs: number): void {
    const { provider } = attempt;
    if (ageMs >= limits.attemptDeadlineMs) {
      attempt.controller.abort();
      if (provider === null) putBack(attempt, new Error('the settings were not there within the deadline'));
      else land(attempt, provider, deadlinePassed);
    } else if (ageMs >= slowAfterMs) {
      turns.noteSlow(attempt.item);
      if (provider !== null) void sayStarted(attempt, provider);
    }
  }

  async function stop(withinMs: number): Promise<void> {
    stopping.abort();
    const idle = new AbortController();
    noteIdle = () => idle.abort();
    if (!isIdle()) await clock.sleep(withinMs, idle.signal);
    if (isIdle()) return;
    logger.warn('stopping with work under way; it is done again', {
      channel,
      inFlight: inFlight.size,
      outcomes: outcomes.waiting,
    });
    outcomes.giveUp();
    for (const attempt of inFlight) attempt.controller.abort();
  }

  return {
    get inFlight() {
      return inFlight.size;
    },
    sending: () => beingSent(inFlight, clock.monotonic() - limits.attemptDeadlineMs - overdueMs),
    depth: (priority) => lanes.depth(priority),
    ageMs: (priority) => ageMs(lanes.heads(priority), clock.now()),
    offer(item) {
      if (underWay.adopts(item)) return;
      if (!waitingEnds.looksFirst(item)) takeIn(item);
    },
    defer(item, dueAt) {
      if (underWay.adopts(item)) return;
      underWay.add(item);
      void say(outcomeEvents.deferred(item, dueAt, 'scheduled'), item);
    },
    putOff(item) {
      if (underWay.adopts(item)) return;
      if (isExpired(item.event, clock.now()) && standing.isSure()) return waitingEnds.expire(item);
      putOff(item);
    },
    dropOver: () => lanes.removeWhere((item) => item.number.isOver),
    none: underWay.none,
    stop,
  };
}
