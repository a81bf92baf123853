// Offsets of one partition that were read in order and are finished in any order; gives the low watermark and what is finished beyond it.
//
//   read:      5 6 7 _ 9 10          (gaps are allowed)
//   finished:    6     9
//   mark:      5                     everything below 5 is finished; the bitmap says 6 and 9

import type { CommittedPosition } from '../ports/event-log.ts';
import { decodeFinished, encodeFinished } from './finished-bitmap.ts';

export interface OffsetWindow {
  /** Offsets held: from the mark on, those finished beyond it too. */
  readonly length: number;
  /** Notes that an offset was read. False when it was finished before the restart: then it is finished here, too. */
  begin(offset: number): boolean;
  /** Finishing twice says nothing new. @throws Error for an offset that was never begun */
  finish(offset: number): void;
  /** The lowest offset that is unfinished, or was not read yet. */
  mark(): number;
  /** All below it was read, since the restart. */
  readonly readTo: number;
  /** The mark, and what is finished beyond it. */
  position(): CommittedPosition;
}

/** Places freed at the front are given back once there are so many of them and they are half of all. */
const compactAt = 1024;

/** @param start where to begin, with the bitmap of what is finished beyond it (a text that isn't one counts as none) */
export function createOffsetWindow(start: CommittedPosition): OffsetWindow {
  let offsets: number[] = [];
  let isFinished: boolean[] = [];
  let first = 0;
  let next = start.offset;
  const restored = decodeFinished(start.offset, start.metadata) ?? [];
  let restoredAt = 0;

  function begin(offset: number): boolean {
    if (offset < next) throw new Error(`offset ${offset} was read after ${next - 1}`);
    next = offset + 1;
    while ((restored[restoredAt] ?? Infinity) < offset) restoredAt++;
    const known = restored[restoredAt] === offset;
    offsets.push(offset);
    isFinished.push(known);
    if (known) advance();
    return !known;
  }

  function finish(offset: number): void {
    const at = indexOf(offset);
    if (at === null || isFinished[at] === true) return;
    isFinished[at] = true;
    if (at === first) advance();
  }

  function advance(): void {
    while (isFinished[first] === true) first++;
    if (first < compactAt || first * 2 < offsets.length) return;
    offsets = offsets.slice(first);
    isFinished = isFinished.slice(first);
    first = 0;
  }

  /** Null below the mark. Without gaps the first guess is right; with them the offset lies before it. */
  function indexOf(offset: number): number | null {
    const lowest = offsets[first] ?? next;
    if (offset < lowest) return null;
    let low = first;
    let high = Math.min(first + offset - lowest, offsets.length - 1);
    if (offsets[high] === offset) return high;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = offsets[middle] ?? Infinity;
      if (found === offset) return middle;
      if (found < offset) low = middle + 1;
      else high = middle - 1;
    }
    throw new Error(`offset ${offset} was finished but never begun`);
  }

  function position(): CommittedPosition {
    const offset = mark();
    const beyond: number[] = [];
    for (let i = first + 1; i < offsets.length; i++) if (isFinished[i] === true) beyond.push(offsets[i] ?? 0);
    for (const known of restored.slice(restoredAt)) if (known >= next && known > offset) beyond.push(known);
    return { offset, metadata: encodeFinished(offset, beyond) };
  }

  /** When all that was read is finished, what follows may be, too, from before the restart. */
  function mark(): number {
    const unfinished = offsets[first];
    if (unfinished !== undefined) return unfinished;
    let offset = next;
    for (const known of restored.slice(restoredAt)) if (known === offset) offset++;
    return offset;
  }

  return {
    get length() {
      return offsets.length - first;
    },
    begin,
    finish,
    mark,
    get readTo() {
      return next;
    },
    position,
  };
}
