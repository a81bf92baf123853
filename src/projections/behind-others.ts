// How long ago others of this thread have folded what a read model that may lag comes to now. Of each topic and number it is noted once a second how far they
// are, for as long as that tells whether the bound is kept.
//
//   others:        ──────────o(1 s)──────────o(2 s)──────────o(3 s)
//   what may lag:  ───────x          its next batch begins here: others had passed it a second after they began, so it is 2 s behind

import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';

export interface BehindOthers {
  /** Others have folded up to here. */
  passed(position: Position): void;
  /** Since when, in ms, others have had this, to a second; at most `keptMs`, and 0 where they haven't. */
  behindMs(position: Position): number;
}

interface Passed {
  readonly offset: number;
  readonly at: number;
}

const noteEveryMs = 1000;

export function createBehindOthers(clock: Pick<Clock, 'monotonic'>, keptMs: number): BehindOthers {
  /** By topic and number, ascending. */
  const passed = new Map<string, Passed[]>();
  const keyOf = ({ topic, partition }: Position): string => `${topic} ${partition}`;
  return {
    passed(position) {
      const now = clock.monotonic();
      const notes = passed.get(keyOf(position)) ?? [];
      const last = notes.at(-1);
      // Of several read models the first one counts.
      if (last !== undefined && (now - last.at < noteEveryMs || position.offset <= last.offset)) return;
      const firstYoung = notes.findIndex(({ at }) => now - at < keptMs);
      // The newest one that is as old as can be told says so for all below it.
      const kept = firstYoung === -1 ? notes.slice(-1) : notes.slice(Math.max(0, firstYoung - 1));
      passed.set(keyOf(position), [...kept, { offset: position.offset, at: now }]);
    },
    behindMs(position) {
      const first = passed.get(keyOf(position))?.find(({ offset }) => offset >= position.offset);
      return first === undefined ? 0 : Math.min(clock.monotonic() - first.at, keptMs);
    },
  };
}
