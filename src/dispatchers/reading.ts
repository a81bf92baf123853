// One topic of a partition number while a dispatcher reads it.

import type { AnsweredBefore } from './answered-before.ts';
import type { OwnedNumber } from './claims.ts';
import type { PartitionTracker } from './read-ahead.ts';

export interface Reading {
  readonly number: OwnedNumber;
  readonly tracker: PartitionTracker;
  readonly answered: AnsweredBefore;
}

/** Taken in one turn of the event loop: at some 10 us an event a reader's turn stays under 1 ms. */
export const turnEventsMax = 64;
/** What is read past isn't decoded: four of them cost no more than one that is taken. */
export const passedPerTaken = 4;
