// A channel's dispatcher: reads its three work topics, delivers, appends what happened, commits what is finished.
//
//   log ──> consumer loop ──> executor ──> provider
//    ^          │ trackers       │
//    │          v                │ outcome, appended until durable
//    ├────── commits             │
//    └───────────────────────────┘

import type { Channel } from '../domain/events.ts';
import { priorities } from '../domain/events.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { Topic } from '../domain/topics.ts';
import { workTopic } from '../domain/topics.ts';
import type { Cancels } from '../ports/cancels.ts';
import type { CallbackAddresses } from '../ports/callback-addresses.ts';
import type { Clock } from '../ports/clock.ts';
import type { Claim, EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ProviderRegistry } from '../ports/provider-registry.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import type { Suppressions } from '../ports/suppressions.ts';
import type { DeliveryDirectory } from '../ports/tenant-directory.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import { createFindAnswered } from './answered.ts';
import { createAttemptReport } from './attempt-report.ts';
import { createBreakerNotes } from './breaker-notes.ts';
import type { Breakers } from './breakers.ts';
import { createBreakers } from './breakers.ts';
import { createClaims } from './claims.ts';
import { createComingBack } from './coming-back.ts';
import { createConsumerLoop } from './consumer-loop.ts';
import { createDeferrals } from './deferrals.ts';
import { createExecutor } from './executor.ts';
import type { DispatcherLimits } from './limits.ts';
import { createFindMeans } from './means.ts';
import { createOutcomeAppender } from './outcome-appender.ts';
import { createOutcomeEvents } from './outcome-events.ts';
import { createJudgeRefusal } from './outdated-refusals.ts';
import { createPauses } from './pauses.ts';
import { createAskPermit } from './permits.ts';
import { createTakeRate } from './provider-rate.ts';
import { createReadAhead } from './read-ahead.ts';
import type { PartitionTracker } from './read-ahead.ts';
import { createRecentIds } from './recent-ids.ts';
import { createSayStarted } from './say-started.ts';
import { createStanding } from './standing.ts';
import { createTenantShares } from './tenant-shares.ts';
import type { StartFrom } from './start-position.ts';

export interface DispatcherDependencies {
  readonly channel: Channel;
  readonly log: EventLog;
  readonly directory: DeliveryDirectory;
  readonly providers: ProviderRegistry;
  readonly retryPolicy: RetryPolicy;
  /** For the rates that tenants set for their providers. */
  readonly limiter: Pick<RateLimiter, 'pace'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits: DispatcherLimits;
  /** To whom tenants send nothing any more. Absent: they send to all. */
  readonly suppressions?: Suppressions;
  /** What is due and waits here, and a person wants stopped. Absent: nobody can want that. */
  readonly cancels?: Cancels;
  /** Absent: no mail says how to unsubscribe. */
  readonly unsubscribeLinks?: Pick<UnsubscribeLinks, 'urlOf'>;
  /** Where providers report to that are told so with each message. Absent: nowhere. */
  readonly callbackAddresses?: Pick<CallbackAddresses, 'urlOf'>;
  /** Where every process sees which providers aren't called for a while. Absent: metrics and the log tell of it alone. */
  readonly noteBreakers?: SettingsStore['noteBreakers'];
  /** Where to begin on partitions that have events and no position: a person's decision. */
  readonly from?: StartFrom;
}

export interface Dispatcher {
  readonly channel: Channel;
  /** Resolves, never rejects, with the reason when it had to stop by itself (MissingPositionError). */
  readonly failed: Promise<Error>;
  /** What is done now with each topic of the numbers that it owns. */
  activity(): readonly Activity[];
  /** Takes nothing more, drops what has not begun, finishes what is in flight (30 s at most), commits, gives its numbers back. */
  stop(): Promise<void>;
}

export interface Activity {
  readonly topic: Topic;
  readonly partition: number;
  /** Goes up with each attempt that is begun and each event that is finished. */
  readonly moves: number;
  /** All below it was read. */
  readonly readTo: number;
  /** An attempt is in flight that ends by its deadline. */
  readonly isUnderWay: boolean;
}

const commitEveryMs = 200;
const drainMaxMs = 30_000;

/** `dispatcher-email|sms|webhook|in-app`: the consumer group that owns a channel's positions. */
export function dispatcherGroup(channel: Channel): string {
  return `dispatcher-${channel.toLowerCase().replace('_', '-')}`;
}

export async function runDispatcher(dependencies: DispatcherDependencies): Promise<Dispatcher> {
  const { channel, log, clock, logger, metrics, from, noteBreakers } = dependencies;
  const group = dispatcherGroup(channel);
  const topics = priorities.map((priority) => workTopic(channel, priority));
  const stopping = new AbortController();
  const failure = Promise.withResolvers<Error>();

  const outcomes = createOutcomeAppender(dependencies);
  const outcomeEvents = createOutcomeEvents(dependencies);
  const findMeans = createFindMeans(dependencies);
  const takeRate = createTakeRate(dependencies);
  const report = createAttemptReport({ ...dependencies, names: dependencies.providers.names(channel) });
  const sayStarted = createSayStarted({ ...dependencies, outcomeEvents });
  const shares = createTenantShares(dependencies);
  const pauses = createPauses(dependencies);
  const comingBack = createComingBack(dependencies);
  const deferrals = createDeferrals({ ...dependencies, comingBack });
  const breakers: Breakers = createBreakers({ ...dependencies, changed: (...of) => breakerNotes?.note(...of) });
  const breakerNotes =
    noteBreakers === undefined
      ? null
      : createBreakerNotes({ ...dependencies, noteBreakers, openUntil: breakers.openUntil });
  const executor = createExecutor({
    ...dependencies,
    shares,
    breakers,
    deferrals,
    askPermit: createAskPermit({
      clock,
      findMeans,
      breakers,
      deferrals,
      pauses,
      isInOthersWay: (tenantId) => trackers().some((tracker) => tracker.isInOthersWay(tenantId)),
      takeRate,
    }),
    judgeRefusal: createJudgeRefusal(dependencies),
    outcomeEvents,
    outcomes,
    sayStarted,
    standing: createStanding({ channel, clock, logger, isCurrent: () => claims.areCurrent() }),
    report,
    noteKept(tenantId) {
      for (const tracker of trackers()) tracker.noteKept(tenantId);
    },
  });
  const claims = createClaims({ group, logger, onOver: executor.dropOver });
  const recentIds = createRecentIds<PartitionTracker>();
  const readTopic = createConsumerLoop({
    group,
    log,
    clock,
    logger,
    executor,
    readAhead: createReadAhead({
      weightOf: (tenantId) => shares.of(tenantId).weight,
      isPaused: pauses.has,
      clock,
      comingBack,
      accountLimits: dependencies.limits.account,
    }),
    recentIds,
    findAnswered: createFindAnswered(dependencies),
    from,
    fail,
  });

  let isStopping = false;
  let stopped: Promise<void> | null = null;
  const joining = log.consume({ group, topics, owned, releasing, lost: claims.drop });
  const committing = commitNowAndThen();
  measure();
  try {
    await joining;
  } catch (err) {
    stopping.abort();
    throw err;
  }
  return { channel, failed: failure.promise, activity, stop };

  function activity(): Activity[] {
    const sending = executor.sending();
    return trackers().map((tracker) => {
      const { topic, partition, moves, readTo } = tracker;
      return { topic, partition, moves, readTo, isUnderWay: sending.has(tracker) };
    });
  }

  function trackers(): PartitionTracker[] {
    return [...claims.all()].flatMap((number) => number.trackers);
  }

  function owned(claim: Claim): void {
    if (isStopping) return;
    const number = claims.add(claim);
    for (const topic of topics) void readTopic(number, topic);
  }

  /** What is in flight is answered and committed before another has the number: a clean move repeats nothing. */
  async function releasing(partition: number): Promise<void> {
    const number = claims.release(partition);
    await executor.none(partition);
    if (number !== null) await claims.commitOne(number);
  }

  async function commitNowAndThen(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(commitEveryMs, stopping.signal);
      await claims.commit();
    }
  }

  /** Called again it answers when the first call is done. */
  function stop(): Promise<void> {
    stopped ??= stopOnce();
    return stopped;
  }

  async function stopOnce(): Promise<void> {
    isStopping = true;
    for (const number of claims.all()) number.isOver = true;
    await executor.stop(drainMaxMs);
    breakerNotes?.stop();
    stopping.abort();
    await committing;
    await claims.commit();
    await (await joining).stop();
  }

  function fail(error: Error): void {
    logger.error('the dispatcher stops', { group, err: error });
    void stopFor(error);
  }

  async function stopFor(error: Error): Promise<void> {
    await stop();
    failure.resolve(error);
  }

  function measure(): void {
    metrics.gauge('herald_in_flight', () => executor.inFlight, { channel });
    for (const priority of priorities) {
      const ofLane = { channel, lane: priority.toLowerCase() };
      metrics.gauge('herald_lane_depth', () => executor.depth(priority), ofLane);
      metrics.gauge('herald_lane_age_seconds', () => executor.ageMs(priority) / 1000, ofLane);
    }
  }
}
