// Whether Herald answers: what the line at the top says, and when pages read again what they may have missed.

import { signal } from '@preact/signals';

export const isReachable = signal(true);

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

/** Something may have changed without a word of it. */
export function noteMissed(): void {
  returns.value += 1;
}
