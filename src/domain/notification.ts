// One notification: the facts that its events tell, in any order and however often, and the status that follows from them.
//
//                 sendAt ahead                     cancel
//   (request) ──> SCHEDULED ───────────────────────────────────┐
//       │            │ due                                     v
//       └─────────> QUEUED ──> PROCESSING ──> RETRYING ──> CANCELLED
//                    ^  │          │   ^________│ │
//              retry │  └──────────┼──────────────┤
//                    │             v              v
//                  FAILED <────────┴────────> DELIVERED
//
// A retry of one whose sendAt is still ahead (a restore had held it) is SCHEDULED again.
// Merging is commutative, associative and idempotent: a test shuffles, repeats and splits histories.

import { assertNever } from './assert-never.ts';
import type { AttemptFacts, AttemptOutcome } from './attempts.ts';
import { lastStartOf, outcomeOf, withAttempt } from './attempts.ts';
import { canonicalContent, isDueAgain, waitsUntil } from './delivery-request.ts';
import { erasedContent, erasedEvent, erasedFacts, isErased } from './erasure.ts';
import type {
  Channel,
  DeliveryRequest,
  NotificationContent,
  NotificationEnvelope,
  NotificationEvent,
  NotificationRequested,
  Priority,
} from './events.ts';
import type { NotificationId, TenantId } from './ids.ts';

export const statuses = ['QUEUED', 'SCHEDULED', 'PROCESSING', 'RETRYING', 'DELIVERED', 'FAILED', 'CANCELLED'] as const;
export type Status = (typeof statuses)[number];

export interface NotificationFacts {
  readonly id: NotificationId;
  readonly tenantId: TenantId;
  readonly partition: number;
  readonly requestedAt: number;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly recipient: string;
  /** null as long as only later events were seen. */
  readonly request: NotificationContent | null;
  /** The highest round seen. */
  readonly round: number;
  /** Ascending by number: the first one and the newest 100. */
  readonly attempts: readonly AttemptFacts[];
  /** The DeliveryDue of the first attempt was seen: the wait for `sendAt` is over. */
  readonly firstDue: boolean;
  /** The highest round that a person began before `sendAt`, and whether its DeliveryDue was seen. Documents hold it only where there is one. */
  readonly scheduledAgain?: { readonly round: number; readonly isDue: boolean };
  /** The latest deferral, by (round, attempt, dueAt). */
  readonly deferral: { readonly round: number; readonly attempt: number; readonly dueAt: number } | null;
  /** The highest round that was cancelled. */
  readonly cancelledRound: number | null;
  /** The latest occurredAt seen. */
  readonly updatedAt: number;
  /** It was too large to be stored whole: its texts are cut, so it can't be sent again. */
  readonly isCut?: true;
  /** The one whose content it has. Documents hold it only where there is one. */
  readonly resendOf?: NotificationId;
}

/** The request itself is the first round. A retry by hand is one more, and the last of so many is the last. */
export const roundsMax = 100;

/** The facts with one more event told. Once one of them is erased all of them are. */
export function mergeEvent(known: NotificationFacts | null, told: NotificationEvent): NotificationFacts {
  const isGone = isErased(told) || (known !== null && isErased(known));
  const before = isGone && known !== null ? erasedFacts(known) : known;
  const event = isGone ? erasedEvent(told) : told;
  const base = before === null ? first(event) : withEnvelope(before, event);
  switch (event.type) {
    case 'NotificationRequested':
      return { ...base, request: lesser(base, event), ...originOf(base, event) };
    case 'DeliveryDue':
      if (event.attempt === 1) return { ...base, firstDue: true };
      return isDueAgain(event) ? withScheduledAgain(base, { round: event.round, isDue: true }) : base;
    case 'RetryRequested':
      return waitsUntil(event) === null ? base : withScheduledAgain(base, { round: event.round, isDue: false });
    case 'CancelRequested':
      return base;
    case 'DeliveryDeferred':
      return { ...base, deferral: laterDeferral(base.deferral, event) };
    case 'AttemptStarted':
      return withTold(base, {
        attempt: event.attempt,
        round: event.round,
        startedAt: event.occurredAt,
        outcome: null,
      });
    case 'AttemptSucceeded':
    case 'AttemptFailed':
      return withTold(base, {
        attempt: event.attempt,
        round: event.round,
        startedAt: null,
        outcome: outcomeOf(event),
      });
    case 'NotificationCancelled':
      return { ...base, cancelledRound: Math.max(base.cancelledRound ?? 0, event.round) };
    default:
      return assertNever(event);
  }
}

/** The status is a function of the facts alone. */
export function statusOf(facts: NotificationFacts): Status {
  const ofRound = facts.attempts.filter((attempt) => attempt.round === facts.round);
  if (ofRound.some((attempt) => attempt.outcome?.kind === 'succeeded')) return 'DELIVERED';
  if (facts.cancelledRound === facts.round) return 'CANCELLED';
  const last = lastBegunOf({ attempts: ofRound, deferral: facts.deferral });
  if (last === undefined) return waitingForSendAt(facts) ? 'SCHEDULED' : 'QUEUED';
  if (last.outcome === null) return 'PROCESSING';
  return last.outcome.kind === 'failed' && last.outcome.retryAt === null ? 'FAILED' : 'RETRYING';
}

/**
 * The last attempt that wasn't put off since: whoever began it lost its number, and the next owner deferred it before anything was known of it. A deferral is due
 * before its attempt begins, so one that began earlier is that of before.
 */
export function lastBegunOf(of: Pick<NotificationFacts, 'attempts' | 'deferral'>): AttemptFacts | undefined {
  return of.attempts.findLast((one) => {
    const isDeferred = of.deferral?.round === one.round && of.deferral.attempt === one.attempt;
    return one.outcome !== null || !isDeferred || (lastStartOf(one) ?? 0) >= of.deferral.dueAt;
  });
}

/** Also of those that are no longer kept: numbers go on from 1 over the rounds. */
export function attemptCountOf({ attempts }: Pick<NotificationFacts, 'attempts'>): number {
  return attempts.at(-1)?.attempt ?? 0;
}

/** Of the last attempt that has ended, over all rounds. */
export function lastOutcomeOf({ attempts }: Pick<NotificationFacts, 'attempts'>): AttemptOutcome | null {
  return attempts.findLast(({ outcome }) => outcome !== null)?.outcome ?? null;
}

/** UTC ms of the delivery that ended the current round; null when it isn't DELIVERED. */
export function deliveredAtOf(facts: NotificationFacts): number | null {
  let least: number | null = null;
  for (const { round, outcome } of facts.attempts) {
    if (round !== facts.round || outcome?.kind !== 'succeeded') continue;
    if (least === null || outcome.occurredAt < least) least = outcome.occurredAt;
  }
  return least;
}

/** UTC ms of the next attempt; null when none is waited for. */
export function nextRetryAtOf(facts: NotificationFacts): number | null {
  if (statusOf(facts) !== 'RETRYING') return null;
  const last = lastBegunOf(facts);
  const retryAt = last?.outcome?.kind === 'failed' ? last.outcome.retryAt : null;
  const { deferral } = facts;
  const deferred =
    deferral !== null && last !== undefined && deferral.round === facts.round && deferral.attempt > last.attempt;
  return deferred ? deferral.dueAt : retryAt;
}

function waitingForSendAt(facts: NotificationFacts): boolean {
  const { round, firstDue, scheduledAgain, request } = facts;
  if (round > 1) return scheduledAgain?.round === round && !scheduledAgain.isDue;
  return !firstDue && request !== null && request.sendAt !== null;
}

function first(event: NotificationEvent): NotificationFacts {
  return {
    id: event.notificationId,
    tenantId: event.tenantId,
    partition: event.partition,
    requestedAt: event.requestedAt,
    channel: event.channel,
    priority: event.priority,
    recipient: event.recipient,
    request: null,
    round: event.round,
    attempts: [],
    firstDue: false,
    deferral: null,
    cancelledRound: null,
    updatedAt: event.occurredAt,
  };
}

/** Every event names the same envelope, unless one id was requested twice: then the least one counts, whatever came first. */
function withEnvelope(facts: NotificationFacts, event: NotificationEnvelope): NotificationFacts {
  const round = Math.max(facts.round, event.round);
  const updatedAt = Math.max(facts.updatedAt, event.occurredAt);
  const least = compareEnvelopes(event, facts) < 0 ? event : facts;
  const { requestedAt, channel, priority, recipient, partition } = least;
  return { ...facts, requestedAt, channel, priority, recipient, partition, round, updatedAt };
}

type ComparedEnvelope = Pick<NotificationEnvelope, 'requestedAt' | 'channel' | 'priority' | 'recipient' | 'partition'>;

function compareEnvelopes(a: ComparedEnvelope, b: ComparedEnvelope): number {
  return (
    a.requestedAt - b.requestedAt ||
    compareText(a.channel, b.channel) ||
    compareText(a.priority, b.priority) ||
    a.partition - b.partition ||
    compareText(a.recipient, b.recipient)
  );
}

/** Of two requests with one id: the least content (their envelopes are compared on their own), by what an erasure leaves of it first: so the same one counts after it. */
function lesser(facts: NotificationFacts, event: { readonly request: DeliveryRequest }): NotificationContent {
  const content = canonicalContent(event.request);
  if (facts.request === null) return content;
  const order =
    compareText(JSON.stringify(erasedContent(content)), JSON.stringify(erasedContent(facts.request))) ||
    compareText(JSON.stringify(content), JSON.stringify(facts.request));
  return order < 0 ? content : facts.request;
}

/** Of two requests with one id that name one the least. */
function originOf(
  { resendOf: known }: NotificationFacts,
  { resendOf: told }: NotificationRequested,
): Pick<NotificationFacts, 'resendOf'> {
  const origin = told ?? known;
  if (origin === undefined) return {};
  return { resendOf: known !== undefined && compareText(known, origin) < 0 ? known : origin };
}

function withScheduledAgain(
  facts: NotificationFacts,
  { round, isDue }: NonNullable<NotificationFacts['scheduledAgain']>,
): NotificationFacts {
  const known = facts.scheduledAgain;
  if (known !== undefined && known.round > round) return facts;
  return { ...facts, scheduledAgain: { round, isDue: isDue || (known?.round === round && known.isDue) } };
}

function laterDeferral(
  a: NotificationFacts['deferral'],
  event: { round: number; attempt: number; dueAt: number },
): NotificationFacts['deferral'] {
  const b = { round: event.round, attempt: event.attempt, dueAt: event.dueAt };
  if (a === null) return b;
  return (b.round - a.round || b.attempt - a.attempt || b.dueAt - a.dueAt) > 0 ? b : a;
}

function withTold(facts: NotificationFacts, attempt: AttemptFacts): NotificationFacts {
  return { ...facts, attempts: withAttempt(facts.attempts, attempt) };
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
