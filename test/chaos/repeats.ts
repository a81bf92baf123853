// Messages that came more often than their attempts, each with the kill or the freeze that it comes from, or without a reason.

import type { Arrival } from './receivers.ts';
import { retryDelaysMs } from './receivers.ts';
import type { Happening } from './timeline.ts';

/** A line `attempt` of a dispatcher's log: written once the outcome is known. */
export interface AttemptLine {
  /** UTC ms. */
  readonly at: number;
  readonly process: string;
  readonly attempt: number;
  readonly tookMs: number;
  readonly outcome: string;
  /** UTC ms; null unless it is to be tried again. */
  readonly retryAt: number | null;
}

export interface Repeat {
  readonly n: number;
  readonly at: number;
  /** null: none was found. */
  readonly reason: string | null;
}

/** After an outcome: its append and its commit (200 ms), on a machine that does all of this at once. */
const commitWindowMs = 3_000;
/** What had left its sender is read so much later at most by a receiver on a busy machine. */
const onTheWireMs = 1_000;
/** From a message's arrival to the line of its attempt. */
const lineWithinMs = 6_000;
/** What one that was frozen had under its hands when it went on. */
const thawWindowMs = 3_000;

/** @param attempts as its record counts them: what came more often is a repeat. */
export function repeatsOf(
  n: number,
  arrivals: readonly Arrival[],
  attempts: number,
  lines: readonly AttemptLine[],
  happened: readonly Happening[],
): readonly Repeat[] {
  const surplus = arrivals.length - attempts;
  if (surplus <= 0) return [];
  const early = arrivals.flatMap((_, i) => (i > 0 && cameTooEarly(arrivals, i) ? [i] : []));
  const later = arrivals.map((_, i) => i).filter((i) => i > 0 && !early.includes(i));
  const chosen = [...early, ...later.toReversed()].slice(0, surplus).toSorted((one, other) => one - other);
  return chosen.map((i) => ({ n, at: arrivals[i]?.at ?? 0, reason: reasonOf(arrivals, i, lines, happened) }));
}

/** After it was taken, or before its next attempt was due. */
function cameTooEarly(arrivals: readonly Arrival[], i: number): boolean {
  const before = arrivals.slice(0, i);
  const last = before.at(-1);
  if (last === undefined) return false;
  if (before.some(({ answer }) => answer === 'taken' || answer === 'refused')) return true;
  const at = arrivals[i]?.at ?? 0;
  return at < last.answeredAt + Math.max(retryDelaysMs[0] ?? 0, last.retryAfterMs) - 100;
}

function reasonOf(
  arrivals: readonly Arrival[],
  i: number,
  lines: readonly AttemptLine[],
  happened: readonly Happening[],
): string | null {
  const here = arrivals[i];
  if (here === undefined) return null;
  const hits = happened.filter(
    ({ role, what }) => role === 'dispatcher' && (what === 'killed' || what === 'frozen' || what === 'fell'),
  );
  // The nearest one first: which of those before it this one repeats can't be seen from outside.
  for (const before of arrivals.slice(0, i).toReversed()) {
    const own = lines.filter(({ at, tookMs }) => at - tookMs <= before.at + 500 && at >= before.at - 50);
    const sender = own.toSorted((one, other) => one.at - other.at)[0] ?? null;
    const hit = hits.find(
      ({ at, process }) =>
        at <= here.at &&
        at >= before.at - onTheWireMs &&
        at <= (sender?.at ?? before.at + lineWithinMs) + commitWindowMs &&
        (sender === null || sender.process === process),
    );
    if (hit !== undefined)
      return sender === null
        ? `${hit.what} with it in flight: ${hit.process}`
        : `${hit.what} after its answer: ${hit.process}`;
  }
  const thawed = happened.find(
    ({ role, what, at }) =>
      role === 'dispatcher' && what === 'continued' && at <= here.at && here.at - at <= thawWindowMs,
  );
  return thawed === undefined ? null : `continued: ${thawed.process}`;
}
