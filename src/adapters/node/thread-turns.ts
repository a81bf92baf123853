// Turns on a thread that all tenants share, by its event loop.
//
//   piece ──is over? no──> piece ──is over? yes──> waits ──> [everybody else's turn] ──> the first of those who wait: piece ...

import type { ThreadTurns } from '../../ports/thread-turns.ts';

/** Of a turn; the piece that crosses it, a ms or two of one document, comes on top: 10 ms are the bound. */
const shareMs = 5;

export function createThreadTurns(): ThreadTurns {
  const waiting: (() => void)[] = [];
  /** When the first piece of this turn began; null: there was none. */
  let beganAt: number | null = null;
  let turn: NodeJS.Immediate | null = null;

  const begin = (): number => {
    beganAt = performance.now();
    comesAround();
    return beganAt;
  };
  const comesAround = (): void => {
    turn ??= setImmediate(() => {
      [turn, beganAt] = [null, null];
      const next = waiting.shift();
      if (next === undefined) return;
      begin();
      next();
    });
  };

  return {
    isOver: () => performance.now() - (beganAt ?? begin()) >= shareMs,
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        comesAround();
      }),
  };
}
