// A tenant of one partition that speaks for itself: what it has in memory and what is in the log alone, both in the order of its events.
//
//   its events:   1   4   6  |  9  12  15     1 and 6 are under way, 4 is finished; from 9 on (`next`) they are to be read again
//                 u   f   u  |  surplus       its state: unfinished [1], all from 5 on (a finished one is never above `resume`)
//
// From the moment that it lags until nothing of it is unfinished, the partition's window counts all of it as finished: only this says what isn't.

import type { TenantId } from '../domain/ids.ts';

/** The hash of a tenant, as a commit has it. */
export type TenantKey = string;

/** What of a tenant's work was taken and isn't finished. */
export interface Held {
  readonly tenantId: TenantId;
  bytes: number;
  /** Ascending, since a tenant's work is taken in its order. */
  readonly offsets: Set<number>;
  /** How many of them are on their way to the scheduler. */
  leaving: number;
  /** The greatest that was finished while it held something; -1: none. */
  finishedMax: number;
  /** Of those that were finished between two that it holds at least one, in any order. */
  finishedBetween: number[];
}

/** All of the tenant's in [from, to). */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/** What is unfinished of a lagging tenant: these, and all from `resume` on, as far as was read. */
export interface LaggardState {
  /** Ascending, below `resume`. */
  readonly unfinished: readonly Run[];
  readonly resume: number;
}

/** Of the tenant's events: one that it finished between two that it holds counts for all that are between them, so no more are kept than it holds, and some. */
const finishedBetweenSpare = 64;

export interface Laggard {
  readonly key: TenantKey;
  /** null: its tenant was not met since the restart. */
  held: Held | null;
  /** All its work below was taken. */
  next: number;
  /** All its work in [next, to) is in the log alone; `next` is not below it when there is none. */
  to: number;
  /** Of the event at `next`, where there was no room for it; else 0. */
  nextBytes: number;
  /** From before the restart, until `next` has reached its end. */
  restored: LaggardState | null;
  /** It lagged at the restart. */
  readonly isOfBefore: boolean;
  /** It began to lag before all was read that had been read before the restart: what of that was left in the log, ascending. */
  readonly leftAgain: Run[];
}

/** Its surplus is in the log alone: what comes of it has to wait until that is taken. */
export function newLaggard(key: TenantKey, held: Held): Laggard {
  return { key, held, next: 0, to: 0, nextBytes: 0, restored: null, isOfBefore: false, leftAgain: [] };
}

export function isBehind({ next, to }: Laggard): boolean {
  return next < to;
}

export function firstOf({ unfinished, resume }: LaggardState): number {
  return unfinished[0]?.from ?? resume;
}

/** Of an event of the tenant. */
export function saysFinished({ unfinished, resume }: LaggardState, offset: number): boolean {
  return offset < resume && !unfinished.some(({ from, to }) => from <= offset && offset < to);
}

export function singleRun(offset: number): Run {
  return { from: offset, to: offset + 1 };
}

/** Of a restart, where all had been read below `readTo`: everything of it is to be read again, but for what is finished. */
export function restoredLaggard(key: TenantKey, state: LaggardState, readTo: number): Laggard {
  const to = Math.max(readTo, state.resume);
  return { key, held: null, next: firstOf(state), to, nextBytes: 0, restored: state, isOfBefore: true, leftAgain: [] };
}

/** Whether the event at `next` or beyond was finished before the restart. */
export function wasFinished({ restored }: Laggard, offset: number): boolean {
  return restored !== null && saysFinished(restored, offset);
}

/** Read on: it was finished before the restart, when its tenant didn't lag yet. */
export function noteFinishedBefore(laggard: Laggard, offset: number): void {
  if (isBehind(laggard)) {
    laggard.restored = { unfinished: laggard.leftAgain, resume: offset + 1 };
    return;
  }
  moveOn(laggard, offset + 1);
  if (laggard.held !== null) noteFinished(laggard.held, offset);
}

/** Everything of it below the offset was taken, or is finished. */
export function moveOn(laggard: Laggard, next: number): void {
  laggard.next = next;
  const { restored, held } = laggard;
  if (restored === null || next < restored.resume) return;
  laggard.restored = null;
  if (held !== null) noteFinished(held, restored.resume - 1);
}

export function noteFinished(held: Held, offset: number): void {
  held.finishedMax = Math.max(held.finishedMax, offset);
  held.finishedBetween.push(offset);
  if (held.finishedBetween.length <= 2 * held.offsets.size + finishedBetweenSpare) return;
  const offsets = [...held.offsets];
  // What comes next may be held: then this stands between the two.
  const beyond = held.finishedMax > (offsets.at(-1) ?? -1) ? [held.finishedMax] : [];
  held.finishedBetween = [...runsOf(held, offsets).flatMap(({ before }) => before ?? []), ...beyond];
}

/** What is unfinished, each event by itself. */
export function stateOf(laggard: Laggard): LaggardState {
  return stateBy(laggard, (taken) => taken.map(singleRun));
}

/** The same in fewer runs: what nothing was finished between is one, so that a few that ended in the middle of many that wait are told by a few. */
export function joinedStateOf(laggard: Laggard): LaggardState {
  const { held } = laggard;
  return held === null ? stateOf(laggard) : stateBy(laggard, (taken) => runsOf(held, taken));
}

function stateBy({ held, next, restored }: Laggard, runs: (taken: readonly number[]) => readonly Run[]): LaggardState {
  const taken = held === null ? [] : [...held.offsets];
  if (restored !== null) {
    const left = restored.unfinished.filter(({ from, to }) => to > next && from < restored.resume);
    return {
      unfinished: [...runs(taken), ...left.map(({ from, to }) => ({ from: Math.max(from, next), to }))],
      resume: restored.resume,
    };
  }
  const resume = (held?.finishedMax ?? -1) + 1;
  const unfinished = taken.filter((offset) => offset < resume);
  return unfinished.length > 0
    ? { unfinished: runs(unfinished), resume }
    : { unfinished: [], resume: taken[0] ?? next };
}

/** @param offsets of those that it holds, the first ones */
function runsOf({ finishedBetween }: Held, offsets: readonly number[]): (Run & { readonly before: number | null })[] {
  const finished = finishedBetween.toSorted((a, b) => a - b);
  const runs: { from: number; to: number; before: number | null }[] = [];
  let at = 0;
  for (const offset of offsets) {
    const run = runs.at(-1);
    const finishedFrom = at;
    while ((finished[at] ?? Infinity) < offset) at++;
    if (run !== undefined && at === finishedFrom) run.to = offset + 1;
    else runs.push({ from: offset, to: offset + 1, before: run === undefined ? null : (finished[at - 1] ?? null) });
  }
  return runs;
}
