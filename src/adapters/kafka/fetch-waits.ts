// How long a broker may keep a request for which it has nothing: short while somebody is left out of it, long while nothing comes.

import type { Clock } from '../../ports/clock.ts';

export interface FetchWaits {
  /** Sources came or went. */
  noteChange(): void;
  /** @param busyAt when something came last, monotonic; @param leavesSomeOut a source that is full isn't in the request. ms */
  waitOf(busyAt: number, leavesSomeOut: boolean): number;
}

const usualWaitMs = 200;
/** The same while a source is full or sources come and go, so that those who are left out of a request are in the next one soon. */
const shortWaitMs = 20;
const settlingMs = 1_000;
/** So long after the last event, and the last change of who is asked for, a fetcher is idle. */
const idleAfterMs = 3_000;

export function createFetchWaits(clock: Pick<Clock, 'monotonic'>, idleWaitMs: number): FetchWaits {
  let changedAt = -Infinity;
  return {
    noteChange() {
      changedAt = clock.monotonic();
    },
    waitOf(busyAt, leavesSomeOut) {
      const now = clock.monotonic();
      if (leavesSomeOut || now - changedAt < settlingMs) return shortWaitMs;
      return now - Math.max(busyAt, changedAt) < idleAfterMs ? usualWaitMs : idleWaitMs;
    },
  };
}
