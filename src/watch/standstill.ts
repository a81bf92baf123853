// Which partition numbers stand still: they have work, and for a while nothing of it was seen to move. Pure, and without an idea of causes:
//
//   sighting: how far there is work (end), how far it is done (position), anything else that changes when some of it is done (marks)
//   behind:   the position hasn't reached the end of the look before, or one of the two can't be had
//   moved:    the position or a mark is another one than when it was last known, or something is under way that ends by itself

/** What was seen of one part of a group's partition number: one of its topics, its timers. */
export interface Sighting {
  readonly group: string;
  readonly partition: number;
  readonly part: string;
  /** Ascending, like the offsets of a topic; null: it could not be asked. */
  readonly end: number | null;
  readonly position: number | null;
  /** End and position are offsets of a topic; else they only compare. */
  readonly countsEvents: boolean;
  /** Null: could not be asked either. */
  readonly marks: readonly (string | number | null)[];
  /** Something is in flight that ends by itself. */
  readonly isUnderWay: boolean;
  /** Parts of the same number whose work may come first: this one doesn't stand still while they are behind and move. */
  readonly after: readonly string[];
}

export interface Standing {
  readonly group: string;
  readonly partition: number;
  readonly part: string;
  /** For how long nothing has moved, in ms. */
  readonly stillMs: number;
  /** Null where one of the two isn't known. */
  readonly behind: number | null;
}

export interface Standstill {
  /**
   * Takes a look: `elapsedMs` after the one before, of which this process was awake. Answers what stands still now, for `stillMaxMs` or longer.
   * What isn't among the sightings is forgotten.
   */
  look(elapsedMs: number, sightings: readonly Sighting[]): readonly Standing[];
}

interface Seen {
  readonly end: number | null;
  readonly position: number | null;
  readonly marks: Sighting['marks'];
  readonly stillMs: number;
}

export function createStandstill(stillMaxMs: number): Standstill {
  let before = new Map<string, Seen>();

  return {
    look(elapsedMs, sightings) {
      const movers = new Set(sightings.filter(isBehindAndMoves).map((sighting) => keyOf(sighting, sighting.part)));
      const after = new Map<string, Seen>();
      const standing: Standing[] = [];
      for (const sighting of sightings) {
        const { group, partition, part } = sighting;
        const key = keyOf(sighting, part);
        const seen = before.get(key);
        const waits = sighting.after.some((other) => movers.has(keyOf(sighting, other)));
        const isStill = seen !== undefined && isBehind(sighting, seen) && !hasMoved(sighting, seen) && !waits;
        const stillMs = isStill ? seen.stillMs + elapsedMs : 0;
        after.set(key, { ...lastKnown(sighting, seen), stillMs });
        if (stillMs < stillMaxMs) continue;
        standing.push({ group, partition, part, stillMs, behind: behindOf(sighting) });
      }
      before = after;
      return standing;
    },
  };

  function isBehindAndMoves(sighting: Sighting): boolean {
    const seen = before.get(keyOf(sighting, sighting.part));
    return seen !== undefined && isBehind(sighting, seen) && hasMoved(sighting, seen);
  }
}

/** What can't be asked now is as it was the last time that it could. */
function lastKnown({ end, position, marks }: Sighting, seen: Seen | undefined): Omit<Seen, 'stillMs'> {
  return {
    end: end ?? seen?.end ?? null,
    position: position ?? seen?.position ?? null,
    marks: marks.map((mark, i) => mark ?? seen?.marks[i] ?? null),
  };
}

function isBehind({ end, position }: Sighting, seen: Seen): boolean {
  if (end === null || position === null || seen.end === null) return true;
  return position < Math.min(seen.end, end);
}

function hasMoved({ position, marks, isUnderWay }: Sighting, seen: Seen): boolean {
  const isMarkMoved = marks.some((mark, i) => mark !== null && mark !== (seen.marks[i] ?? null));
  return isUnderWay || isMarkMoved || (position !== null && position !== seen.position);
}

function behindOf({ end, position }: Sighting): number | null {
  return end === null || position === null ? null : end - position;
}

function keyOf({ group, partition }: Pick<Sighting, 'group' | 'partition'>, part: string): string {
  return `${group} ${partition} ${part}`;
}
