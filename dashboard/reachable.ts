// Whether Herald answers: what the line at the top says, and when pages read again what they may have missed.

import { signal } from '@preact/signals';

import type { ApiProblem } from './problem.ts';

export const isReachable = signal(true);

/** Why changes aren't told though Herald answers; null: they are. */
export const refusal = signal<ApiProblem | null>(null);

/** Counts how often it came back: whoever shows what may have changed reads it again. */
export const returns = signal(0);

export function noteUnreachable(): void {
  isReachable.value = false;
}

export function noteReached(): void {
  if (isReachable.value) return;
  isReachable.value = true;
  noteMissed();
}

export function noteRefused(problem: ApiProblem): void {
  refusal.value = problem;
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
