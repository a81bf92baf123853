// Partitions whose leader has changed, or isn't ready yet, rest for a while: they are left out of the requests, and the others go on.

import type { Clock } from '../../ports/clock.ts';
import { backOffMs } from './back-off.ts';
import { keyOf } from './fetch-session.ts';

interface Place {
  readonly topic: string;
  readonly partition: number;
}

export interface PartitionRests<P extends Place> {
  /** They begin to rest, the longer the more often they do. Answers which of them had not rested lately. */
  begin(partitions: readonly P[]): readonly P[];
  /** How long it rests still, in ms; 0: it doesn't. */
  leftMs(place: Place): number;
  forget(place: Place): void;
}

/** So long after its last rest a partition is well again, and the next one is a short one. */
const restForgottenMs = 10_000;

export function createPartitionRests<P extends Place>(clock: Clock): PartitionRests<P> {
  /** By key; no more than there are partitions that are read. */
  const rests = new Map<string, { readonly count: number; readonly until: number }>();

  return {
    begin(partitions) {
      const now = clock.monotonic();
      const counts = partitions.map((place) => {
        const last = rests.get(keyOf(place));
        const count = last === undefined || now - last.until > restForgottenMs ? 1 : last.count + 1;
        rests.set(keyOf(place), { count, until: now + backOffMs(count) });
        return count;
      });
      return partitions.filter((_, i) => counts[i] === 1);
    },

    leftMs(place) {
      const last = rests.size === 0 ? undefined : rests.get(keyOf(place));
      return last === undefined ? 0 : Math.max(0, last.until - clock.monotonic());
    },

    forget(place) {
      rests.delete(keyOf(place));
    },
  };
}
