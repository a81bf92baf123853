// Where a change stands in the stream, by the ids of its messages, and whether an answer of the API has it already. Pure.
//
//   3.0.1k.0~7.0.0.2f   numbers in base 36; a message raises one of them

import type { Change } from './wire.ts';

/** Which of the id's numbers a message has raised, and to what. */
export interface Place {
  readonly part: number;
  readonly value: number;
}

/** A change, and where in the stream it came; null: it can't be told. */
export type Told = Change & { readonly place: Place | null };

export function numbersOf(id: string): readonly number[] {
  return id.split(/[.~]/).map((part) => Number.parseInt(part, 36));
}

/** null: the ids don't follow one another. */
export function placeOf(former: readonly number[], next: readonly number[]): Place | null {
  const part = next.findIndex((value, at) => value > (former[at] ?? Infinity));
  const value = next[part];
  return former.length !== next.length || value === undefined ? null : { part, value };
}

/** @param position as the answer's `x-stream-position` has it */
export function isIn(position: readonly number[], { part, value }: Place): boolean {
  return value <= (position[part] ?? 0);
}
