// How long each step of each notification waited, and what of it nothing excuses.

import type { Sending } from './load.ts';
import type { Role } from './plan.ts';
import type { Arrival } from './receivers.ts';
import { retryDelaysMs } from './receivers.ts';
import type { AttemptLine } from './repeats.ts';
import type { Happening, Span } from './timeline.ts';
import { excusedSpans, uncoveredMs } from './timeline.ts';

export interface Wait {
  readonly n: number;
  readonly step: 'first attempt' | 'sendAt' | 'retry' | 'fold';
  /** When it was due. UTC ms. */
  readonly from: number;
  /** null: not yet, when all was over. */
  readonly to: number | null;
}

export interface JudgedWait extends Wait {
  readonly ms: number;
  /** Without the time in which its roles can't be expected to move (timeline.ts). */
  readonly unexcusedMs: number;
}

/** In the records alone: an item of an inbox is in nobody's hands outside. */
export type DeliveredAt = (n: number) => number | null;

/**
 * A step ends when a receiver has the message or, by a dispatcher's log, an attempt that didn't reach it began: that one was
 * cut by its deadline, and what comes after it is a step of its own.
 */
export function waitsOf(
  sending: Sending,
  arrivals: readonly Arrival[],
  lines: readonly AttemptLine[],
  deliveredAt: DeliveredAt,
): readonly Wait[] {
  const { n, channel, accepted, sendAt } = sending;
  const waits: Wait[] = [];
  const tries = triesOf(arrivals, lines);
  if (accepted !== null) {
    const from = Math.max(accepted.at, sendAt ?? 0);
    const to = channel === 'IN_APP' ? deliveredAt(n) : (tries[0]?.at ?? null);
    waits.push({ n, step: sendAt === null ? 'first attempt' : 'sendAt', from, to });
  }
  for (const [i, { nextDueAt }] of tries.entries()) {
    if (nextDueAt === null) break;
    waits.push({ n, step: 'retry', from: nextDueAt, to: tries[i + 1]?.at ?? null });
  }
  return waits;
}

interface Try {
  readonly at: number;
  /** null: it ended the notification. */
  readonly nextDueAt: number | null;
}

function triesOf(arrivals: readonly Arrival[], lines: readonly AttemptLine[]): readonly Try[] {
  const arrived = arrivals.map(({ at, answer, answeredAt, retryAfterMs }, i): Try => {
    const isOver = answer === 'taken' || answer === 'refused';
    return { at, nextDueAt: isOver ? null : answeredAt + Math.max(retryDelaysMs[i] ?? 0, retryAfterMs) };
  });
  const cut = lines
    .map(({ at, tookMs, retryAt }) => ({ began: at - tookMs, at, retryAt }))
    .filter(({ began, at }) => !arrivals.some((arrival) => arrival.at >= began - clockMs && arrival.at <= at + clockMs))
    .flatMap(({ began, retryAt }) => (retryAt === null ? [] : [{ at: began, nextDueAt: retryAt }]));
  return [...arrived, ...cut].toSorted((one, other) => one.at - other.at);
}

/** Between the clocks of two busy processes, a message's way included. */
const clockMs = 200;

export function judged(waits: readonly Wait[], happened: readonly Happening[], until: number): readonly JudgedWait[] {
  const excused = new Map<Wait['step'], readonly Span[]>();
  for (const [step, roles] of Object.entries(rolesOf))
    excused.set(step as Wait['step'], excusedSpans(happened, roles, until));
  return waits.map((wait) => {
    const span = { from: wait.from, to: Math.max(wait.from, wait.to ?? until) };
    return { ...wait, ms: span.to - span.from, unexcusedMs: uncoveredMs(span, excused.get(wait.step) ?? []) };
  });
}

/** Who has to work for a step to come: what was sent shows once its outcome is appended, folded, and somebody answers. */
const rolesOf: Readonly<Record<Wait['step'], readonly Role[]>> = {
  'first attempt': ['dispatcher'],
  sendAt: ['dispatcher', 'scheduler'],
  retry: ['dispatcher', 'scheduler'],
  fold: ['api', 'dispatcher', 'projector'],
};
