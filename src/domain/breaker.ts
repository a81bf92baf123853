// A circuit breaker: whether an attempt may be made, by how the last ones went. Pure; times are monotonic ms.
//
//            failures in a row, refused credentials, or a pause that was asked for
//   closed ──────────────────────────────────────────────────────────────> open ───its time──> half-open: one probe at a time
//     ^                                                                     ^                         │
//     └──────────────────────── the probe is answered ──────────────────────┼─────────────────────────┤
//                                                                           └── it fails, or asks for a pause again: for twice as long

import { assertNever } from './assert-never.ts';

export const breakerStates = ['closed', 'open', 'half-open'] as const;
export type BreakerState = (typeof breakerStates)[number];

/** Half-open is an open one whose time is over: nothing happens at that moment. */
export type Breaker =
  | { readonly kind: 'closed'; readonly failures: number }
  | {
      readonly kind: 'open';
      readonly until: number;
      /** The receiver itself asked for the pause. */
      readonly isAsked: boolean;
      /** In a row, without a success between them. */
      readonly openings: number;
      /** When the probe that is under way began; null: none is. */
      readonly probeSince: number | null;
    };

export const closedBreaker: Breaker = { kind: 'closed', failures: 0 };

export type Admission =
  | { readonly kind: 'go' }
  /** The one attempt that shows whether it works again; whoever makes it says how it went. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'wait'; readonly until: number };

/** How an attempt went, for the breaker: `up` whenever the receiver answered for itself, `none` where it says nothing about it. */
export type Sign =
  | { readonly kind: 'up' }
  | { readonly kind: 'down' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'pause'; readonly ms: number }
  | { readonly kind: 'none' };

export interface AttemptSign {
  readonly sign: Sign;
  readonly isProbe: boolean;
  /** Failures in a row that open it. */
  readonly failuresMax: number;
}

/** 1, 2, 4, ... s: an outage of a minute takes six probes. */
const openFirstMs = 1_000;
const openMaxMs = 10 * 60_000;
/** Up to so much longer, so that those who failed together don't come back together. */
const openSpread = 0.2;
/** Whether the probe has been answered is looked at again after this. */
const probeLookMs = 1_000;
/** A probe that nobody says anything of any more: twice the longest deadline that is usual. */
const probeMaxMs = 60_000;

export function admit(breaker: Breaker, now: number): { readonly admission: Admission; readonly breaker: Breaker } {
  if (breaker.kind === 'closed') return { admission: { kind: 'go' }, breaker };
  const { until, probeSince } = breaker;
  if (now < until) return { admission: { kind: 'wait', until }, breaker };
  if (probeSince !== null && now - probeSince < probeMaxMs)
    return { admission: { kind: 'wait', until: now + probeLookMs }, breaker };
  return { admission: { kind: 'probe' }, breaker: { ...breaker, probeSince: now } };
}

/** @param random in [0, 1) */
export function afterAttempt(before: Breaker, attempt: AttemptSign, now: number, random: number): Breaker {
  const { sign, isProbe, failuresMax } = attempt;
  const breaker = isProbe && before.kind === 'open' ? { ...before, probeSince: null } : before;
  const reopened = isProbe && breaker.kind === 'open' ? openedFor(breaker.openings + 1, now, random) : breaker;
  switch (sign.kind) {
    case 'none':
      return breaker;
    case 'up':
      return breaker.kind === 'closed' || isProbe ? closedBreaker : breaker;
    case 'pause':
      return paused(reopened, now + sign.ms);
    case 'down':
      if (breaker.kind === 'open') return reopened;
      return breaker.failures + 1 < failuresMax
        ? { kind: 'closed', failures: breaker.failures + 1 }
        : openedFor(1, now, random);
    case 'refused':
      if (breaker.kind === 'open') return reopened;
      return openedFor(1, now, random);
    default:
      return assertNever(sign);
  }
}

export function stateOf(breaker: Breaker, now: number): BreakerState {
  if (breaker.kind === 'closed') return 'closed';
  return now < breaker.until ? 'open' : 'half-open';
}

/** A process that noted it may have ended: what wasn't tried for so long after its time counts as closed, as it is for whoever comes next. */
const noteHoldsMs = 60 * 60_000;

/** Of what was noted elsewhere, UTC ms. */
export function notedState(until: number | null, now: number): BreakerState {
  if (until === null || now - until > noteHoldsMs) return 'closed';
  return now < until ? 'open' : 'half-open';
}

function openedFor(openings: number, now: number, random: number): Breaker {
  const openMs = Math.min(openFirstMs * 2 ** Math.min(openings - 1, 20), openMaxMs) * (1 + openSpread * random);
  return { kind: 'open', until: now + openMs, isAsked: false, openings, probeSince: null };
}

/** What was asked for holds at least; what began meanwhile may ask for more, and who asks at each probe is probed no more often than who fails. */
function paused(breaker: Breaker, until: number): Breaker {
  if (breaker.kind === 'closed') return { kind: 'open', until, isAsked: true, openings: 0, probeSince: null };
  return { ...breaker, until: Math.max(breaker.until, until), isAsked: true };
}
