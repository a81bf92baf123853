// Whether Herald answers: what the line at the top says, and when pages read again what they may have missed.

import { signal } from '@preact/signals';

import type { ApiProblem } from './problem.ts';

export const isReachable = signal(true);

/** Why changes aren't told though Herald answers; null: they are. */
export const refusal = signal<ApiProblem | null>(null);

/** Counts how often it came back: whoever shows what may have changed reads it again. */
export const returns = signal(0);

/** A stream is open after a round trip or two; pages that waited longer for it read what they show anew once it is. */
const readsWaitMaxMs = 1_000;
let areReadsBegun = false;
let beginReads: () => void = () => undefined;
const readsBegun = new Promise<void>((resolve) => {
  beginReads = () => {
    areReadsBegun = true;
    resolve();
  };
});

/** Resolves once changes are told, of which what is read from then on lacks none; or once they aren't for now. */
export function untilFollowed(): Promise<void> {
  return readsBegun;
}

export function noteFollowing(): void {
  setTimeout(beginReads, readsWaitMaxMs);
}

/** The first stream has begun. */
export function noteFollowed(): void {
  if (areReadsBegun) noteMissed();
  else beginReads();
}

export function noteUnreachable(): void {
  isReachable.value = false;
  beginReads();
}

export function noteReached(): void {
  if (isReachable.value) return;
  isReachable.value = true;
  noteMissed();
}

export function noteRefused(problem: ApiProblem): void {
  refusal.value = problem;
  beginReads();
}

/** Changes are told from now on. */
export function noteTold(): void {
  if (refusal.value === null) return;
  refusal.value = null;
  noteMissed();
}

/** Something may have changed without a word of it. */
export function noteMissed(): void {
  returns.value += 1;
}
