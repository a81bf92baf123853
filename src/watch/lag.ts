// How long ago the end of a partition was that a position has reached: how far behind it is, in time. Pure; from looks alone, without reading an event.

export interface Lag {
  /** Takes note of a look and answers the lag in ms: at least so old is what isn't done. Null: it could not be asked. */
  note(nowMs: number, end: number | null, position: number | null): number;
}

interface EndSeen {
  readonly atMs: number;
  readonly end: number;
}

/** Past it every second look is forgotten: a lag is then told up to a sixteenth too low. */
const looksMax = 32;

export function createLag(): Lag {
  /** Ends that weren't reached when they were looked at last, the oldest first; before them one that was. */
  let unreached: EndSeen[] = [];
  let unknownSinceMs: number | null = null;
  let lastPosition = 0;

  return {
    note(nowMs, end, position) {
      const reached = (lastPosition = position ?? lastPosition);
      if (end !== null) unreached.push({ atMs: nowMs, end });
      unreached = unreached.filter((seen) => seen.end > reached);
      if (unreached.length > looksMax) unreached = unreached.filter((_, i) => i % 2 === 0);
      unknownSinceMs = end === null || position === null ? (unknownSinceMs ?? nowMs) : null;
      return nowMs - Math.min(nowMs, unreached[0]?.atMs ?? nowMs, unknownSinceMs ?? nowMs);
    },
  };
}
