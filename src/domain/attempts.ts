// The attempts of one notification: what is told of each merges in any order, and of many the newest are kept.

import type { AttemptFailed, AttemptSucceeded, FailureClass } from './events.ts';
import type { EventId } from './ids.ts';

interface OutcomeFacts {
  readonly eventId: EventId;
  readonly occurredAt: number;
  readonly provider: string;
  readonly waitedMs: number;
  readonly tookMs: number;
  /** Absent: the first provider. */
  readonly role?: 'fallback';
}

export type AttemptOutcome =
  | (OutcomeFacts & { readonly kind: 'succeeded'; readonly messageId: string | null })
  | (OutcomeFacts & {
      readonly kind: 'failed';
      readonly failureClass: FailureClass;
      readonly code: string | null;
      readonly message: string;
      /** null ends the round. */
      readonly retryAt: number | null;
    });

export interface AttemptFacts {
  readonly attempt: number;
  readonly round: number;
  /** The earliest that was told. */
  readonly startedAt: number | null;
  /** The latest, of one that was begun more than once: by who lost its number, and by the next owner. Documents hold it only where there is one. */
  readonly startedAgainAt?: number;
  readonly outcome: AttemptOutcome | null;
}

/**
 * Beside the first attempt the newest so many are kept: 100 rounds of 8 attempts with messages of 1 KiB would be a document of 1 MiB, this is 140 KiB at most.
 * A round has no more attempts than that (RETRY_DELAYS is bounded by it), so all of the present one are there.
 */
export const attemptsKeptMax = 100;

/**
 * With one more told, ascending by number. Whatever is left out is neither the least number nor among the highest, and can't come to be either by what is told
 * later: so the result is the same in any order, and what is told again of one that was left out changes nothing.
 */
export function withAttempt(attempts: readonly AttemptFacts[], told: AttemptFacts): readonly AttemptFacts[] {
  const all: AttemptFacts[] = [];
  let merged = told;
  for (const known of attempts) {
    if (known.attempt === told.attempt) merged = mergeAttempts(known, told);
    else all.push(known);
  }
  all.push(merged);
  all.sort((a, b) => a.attempt - b.attempt);
  return all.length > attemptsKeptMax + 1 ? [...all.slice(0, 1), ...all.slice(-attemptsKeptMax)] : all;
}

export function outcomeOf(event: AttemptSucceeded | AttemptFailed): AttemptOutcome {
  const { eventId, occurredAt, provider, waitedMs, tookMs } = event;
  const by = event.role === 'fallback' ? { role: event.role } : {};
  if (event.type === 'AttemptSucceeded')
    return { kind: 'succeeded', eventId, occurredAt, provider, waitedMs, tookMs, messageId: event.messageId, ...by };
  const { failureClass, code, message, retryAt } = event;
  const how = { eventId, occurredAt, provider, waitedMs, tookMs };
  return { kind: 'failed', ...how, failureClass, code, message, retryAt, ...by };
}

function mergeAttempts(a: AttemptFacts, b: AttemptFacts): AttemptFacts {
  const first = Math.min(a.startedAt ?? Infinity, b.startedAt ?? Infinity);
  const last = Math.max(lastStartOf(a) ?? -Infinity, lastStartOf(b) ?? -Infinity);
  return {
    attempt: a.attempt,
    round: Math.max(a.round, b.round),
    startedAt: first === Infinity ? null : first,
    outcome: a.outcome === null || b.outcome === null ? (a.outcome ?? b.outcome) : decisive(a.outcome, b.outcome),
    ...(last > first ? { startedAgainAt: last } : {}),
  };
}

/** UTC ms; null where no start was told. */
export function lastStartOf({ startedAt, startedAgainAt }: AttemptFacts): number | null {
  return startedAgainAt ?? startedAt;
}

/** Of two outcomes of one attempt: success, then final failure, then failure with a retry; then the smaller occurredAt, then the smaller eventId. */
function decisive(a: AttemptOutcome, b: AttemptOutcome): AttemptOutcome {
  const order = rank(a) - rank(b) || a.occurredAt - b.occurredAt || compareText(a.eventId, b.eventId);
  return order <= 0 ? a : b;
}

function rank(outcome: AttemptOutcome): number {
  if (outcome.kind === 'succeeded') return 0;
  return outcome.retryAt === null ? 1 : 2;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
