// What waits to be written, and what of it the next transaction takes: what came a few at a time and is to be sent goes before the hundreds of a batch.
//
//   urgent ──> all of it, half a transaction at most ──┐
//   others ──────────> half, or all where none is urgent ┴──> a transaction
//
// So a notification that is posted beside a flood of batches is written with a part of a batch, not behind two. Each partition keeps its order: what comes
// behind others of its own is one of them, and so is what the urgent have no room for.

import type { Clock } from '../../../ports/clock.ts';

/** Of one transaction: 500 x 9 us are about 5 ms of the event loop. */
export const flushMax = { events: 500, bytes: 256 * 1024 } as const;
/** What either has where both wait: what is urgent is answered some 3 ms sooner than with a whole part of a batch. */
const halfMax = { events: flushMax.events / 2, bytes: flushMax.bytes / 2 } as const;

export interface Queued {
  /** Of its topic and partition. */
  readonly slot: number;
  readonly bytes: Uint8Array;
}

export interface AppendQueue<T> {
  readonly size: number;
  readonly bytes: number;
  /** @param isUrgent it goes first, where that breaks no order */
  add(append: T, isUrgent: boolean): void;
  /** What the next transaction writes, and since when the first of it has waited, by the monotonic clock. */
  take(): Taken<T>;
}

export interface Taken<T> {
  readonly appends: T[];
  readonly since: number;
  readonly hasUrgent: boolean;
}

export function createAppendQueue<T extends Queued>(slots: number, clock: Pick<Clock, 'monotonic'>): AppendQueue<T> {
  const urgent = createLine<T>(clock);
  const others = createLine<T>(clock);
  const othersOf = new Uint32Array(slots);
  const hasRoom = () => urgent.size < halfMax.events && urgent.bytes < halfMax.bytes;

  const takeOthers = (max: typeof flushMax | typeof halfMax): T[] => {
    const taken = others.take(max);
    for (const { slot } of taken) othersOf[slot] = (othersOf[slot] ?? 0) - 1;
    return taken;
  };

  return {
    get size() {
      return urgent.size + others.size;
    },
    get bytes() {
      return urgent.bytes + others.bytes;
    },
    add(append, isUrgent) {
      const before = othersOf[append.slot] ?? 0;
      if (isUrgent && before === 0 && hasRoom()) return urgent.add(append);
      othersOf[append.slot] = before + 1;
      others.add(append);
    },
    take() {
      const since = Math.min(urgent.since, others.since);
      if (urgent.size === 0) return { appends: takeOthers(flushMax), since, hasUrgent: false };
      const first = urgent.take(flushMax);
      return { appends: others.size === 0 ? first : first.concat(takeOthers(halfMax)), since, hasUrgent: true };
    },
  };
}

/** In the order in which they came. */
function createLine<T extends Queued>(clock: Pick<Clock, 'monotonic'>) {
  let waiting: T[] = [];
  let bytes = 0;
  let since = Infinity;
  return {
    get size() {
      return waiting.length;
    },
    get bytes() {
      return bytes;
    },
    /** Infinity: nothing waits. */
    get since() {
      return since;
    },
    add(append: T): void {
      if (waiting.length === 0) since = clock.monotonic();
      waiting.push(append);
      bytes += append.bytes.length;
    },
    /** One at least, if there is one. */
    take(max: { readonly events: number; readonly bytes: number }): T[] {
      let count = 0;
      let taken = 0;
      while (count < waiting.length && count < max.events && taken < max.bytes)
        taken += waiting[count++]?.bytes.length ?? 0;
      bytes -= taken;
      const first = count === waiting.length ? waiting : waiting.slice(0, count);
      waiting = count === waiting.length ? [] : waiting.slice(count);
      if (waiting.length === 0) since = Infinity;
      return first;
    },
  };
}
