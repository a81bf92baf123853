// Makes a channel's attempts: which item is next, when it may begin, what becomes of it.
//
//   offer ──> lanes ──turn──> look up the settings ──> rate ──> send ──> outcome ──> append until durable ──> finished
//               ^                   │ can't be had      │         │ deadline: outcome all the same
//               ├── put back, held 1 s                  │ used up └ over 1 s: AttemptStarted is said
//               └── put back, held until its window ends┘

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { Channel, Priority } from '../domain/events.ts';
import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { deadlinePassed, newAttempt, send } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptReport } from './attempt-report.ts';
import type { DispatcherLimits } from './limits.ts';
import type { FindMeans, Means } from './means.ts';
import type { OutcomeAppender } from './outcome-appender.ts';
import type { OutcomeEvent, OutcomeEvents } from './outcome-events.ts';
import type { TakeRate } from './provider-rate.ts';
import type { PartitionTracker } from './read-ahead.ts';
import type { SayStarted } from './say-started.ts';
import type { Standing } from './standing.ts';
import type { TenantShares } from './tenant-shares.ts';
import { createTurns } from './turns.ts';
import { createUnderWay } from './under-way.ts';
import { ageMs } from './work-item.ts';
import type { WorkItem } from './work-item.ts';

export interface ExecutorDependencies {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: DispatcherLimits;
  readonly shares: TenantShares;
  readonly findMeans: FindMeans;
  readonly takeRate: TakeRate;
  readonly outcomeEvents: OutcomeEvents;
  readonly outcomes: OutcomeAppender;
  readonly sayStarted: SayStarted;
  readonly standing: Standing;
  readonly report: AttemptReport;
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
/** An attempt that is so far past its deadline isn't ending by itself. */
const overdueMs = 1_000;
/** How long a tenant is passed over when its settings can't be had. */
const settingsRetryMs = 1_000;

export function createExecutor(dependencies: ExecutorDependencies): Executor {
  const { channel, clock, logger, limits, findMeans, takeRate, outcomeEvents, outcomes, sayStarted, standing, report } =
    dependencies;
  const turns = createTurns<WorkItem>(dependencies);
  const { gate, lanes } = turns;
  const inFlight = new Set<Attempt>();
  const underWay = createUnderWay();
  const stopping = new AbortController();
  let isTurnAsked = false;
  let isSweeping = false;
  let noteIdle: (() => void) | null = null;

  function askTurn(): void {
    if (isTurnAsked || stopping.signal.aborted) return;
    isTurnAsked = true;
    setImmediate(turn);
  }

  function turn(): void {
    isTurnAsked = false;
    if (stopping.signal.aborted || outcomes.oldestWaitMs() > outcomeWaitMaxMs) return;
    if (!standing.isSure()) return void standing.sure().then(askTurn);
    for (let begun = 0; begun < limits.startsPerTurn; begun++) {
      const item = turns.begin();
      if (item === undefined) return;
      begin(item);
    }
    askTurn();
  }

  function begin(item: WorkItem): void {
    const attempt = newAttempt(item, clock);
    inFlight.add(attempt);
    underWay.add(item);
    if (!isSweeping) void sweep();
    void make(attempt);
  }

  async function make(attempt: Attempt): Promise<void> {
    let means: Means;
    try {
      means = await findMeans(attempt.item.event.tenantId);
    } catch (err) {
      return putBack(attempt, err);
    }
    if (attempt.isOver) return;
    if (stopping.signal.aborted) return returnToLane(attempt);
    if (means.kind === 'none') return land(attempt, means.provider, { kind: 'rejected', reason: means.reason });
    if (means.maxPerSecond !== null && !(await mayBegin(attempt, means.maxPerSecond))) return;
    if (!standing.isSure()) return returnToLane(attempt);
    attempt.provider = means.provider.name;
    attempt.startedAt = clock.now();
    attempt.startedMonotonic = clock.monotonic();
    attempt.item.tracker.noteAttempt();
    land(attempt, attempt.provider, await send(attempt, means, logger));
  }

  /** False when its tenant's rate is used up: then no attempt was made, and the item keeps its place. */
  async function mayBegin(attempt: Attempt, maxPerSecond: number): Promise<boolean> {
    const { tenantId } = attempt.item.event;
    const { allowed, remaining, resetMs } = await takeRate(tenantId, maxPerSecond);
    if (remaining === 0) void rest(tenantId, resetMs);
    if (attempt.isOver) return false;
    if (allowed && !stopping.signal.aborted) return true;
    returnToLane(attempt);
    return false;
  }

  /** Its other items are passed over until then: what is asked for now is refused. */
  async function rest(tenantId: TenantId, ms: number): Promise<void> {
    // Timers may fire a little early.
    const restMs = Math.ceil(ms) + 1;
    if (!gate.holdUntil(tenantId, clock.monotonic() + restMs)) return;
    await clock.sleep(restMs, stopping.signal);
    if (gate.endHold(tenantId, clock.monotonic())) release(tenantId);
  }

  /** The attempt has its outcome, which is on its way to the log before the slot is given back. */
  function land(attempt: Attempt, provider: string, outcome: DeliveryOutcome): void {
    if (attempt.isOver) return;
    attempt.isOver = true;
    // After a sleep a deadline has passed at once, whatever became of the attempt; whether it is still ours to say the group knows.
    if (outcome.kind === 'delivered' || standing.isSure()) landNow(attempt, provider, outcome);
    else void standing.sure().then(() => landNow(attempt, provider, outcome));
  }

  function landNow(attempt: Attempt, provider: string, outcome: DeliveryOutcome): void {
    const { item } = attempt;
    if (item.tracker.isClosed && outcome.kind !== 'delivered') {
      // Whoever has its number now makes the same attempt: a failure said beside that one's success would be tried again.
      underWay.drop(item);
      return leave(attempt);
    }
    const event = outcomeEvents.ended(attempt, provider, outcome);
    report(event);
    void say(event, item);
    leave(attempt);
  }

  async function say(event: OutcomeEvent, item: WorkItem): Promise<void> {
    await outcomes.say(event, item);
    underWay.finish(item);
    goOn();
  }

  /** Not an attempt: the item keeps its place, its tenant is passed over for a while. */
  function putBack(attempt: Attempt, err: unknown): void {
    if (attempt.isOver) return;
    const { tenantId, notificationId } = attempt.item.event;
    logger.warn('the settings can not be had; trying again', { channel, tenantId, notificationId, err });
    gate.holdUntil(tenantId, clock.monotonic() + settingsRetryMs);
    returnToLane(attempt);
  }

  function returnToLane(attempt: Attempt): void {
    const { item } = attempt;
    underWay.drop(item);
    if (!item.number.isOver) lanes.putBack(item.event.priority, item.event.tenantId, item);
    leave(attempt);
  }

  function leave(attempt: Attempt): void {
    attempt.isOver = true;
    inFlight.delete(attempt);
    turns.end(attempt.item);
    goOn();
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
      for (const tenantId of gate.expired(now)) release(tenantId);
      askTurn();
    }
    isSweeping = false;
  }

  /** It may have its turns again, unless something else still holds it. */
  function release(tenantId: TenantId): void {
    if (!gate.isHeld(tenantId)) lanes.release(tenantId);
    askTurn();
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
    sending() {
      const since = clock.monotonic() - limits.attemptDeadlineMs - overdueMs;
      const alive = [...inFlight].filter((attempt) => attempt.provider !== null && attempt.startedMonotonic >= since);
      return new Set(alive.map(({ item }) => item.tracker));
    },
    depth: (priority) => lanes.depth(priority),
    ageMs: (priority) => ageMs(lanes.heads(priority), clock.now()),
    offer(item) {
      if (underWay.adopts(item)) return;
      lanes.push(item.event.priority, item.event.tenantId, item);
      askTurn();
    },
    defer(item, dueAt) {
      if (underWay.adopts(item)) return;
      underWay.add(item);
      void say(outcomeEvents.scheduled(item, dueAt), item);
    },
    dropOver: () => lanes.removeWhere((item) => item.number.isOver),
    none: underWay.none,
    stop,
  };
}
