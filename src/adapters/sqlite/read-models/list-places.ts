// A document's place in the index of a list: the number that it is ordered by, and behind it 21 bits that tell those of the same number apart.

import { murmur2 } from '../../../domain/murmur.ts';
import type { TableIndex } from './tables.ts';

const idBits = 21;
/** 2^21 documents of one number. A millisecond has some. */
const idMask = (1 << idBits) - 1;
/** What 63 bits leave: as milliseconds, until the year 2109. */
const numberMax = 2 ** 42 - 1;
const numberMin = -(2 ** 42);
const placeMax = 2n ** 63n - 1n;

/** The table that says whose a place is. */
export function placesOf({ name }: TableIndex): string {
  return `${name}_places`;
}

export function isOrderNumber(value: number): boolean {
  return Number.isInteger(value) && value >= numberMin && value <= numberMax;
}

/** The first place of this number and those above. */
export function firstPlace(number: number): bigint {
  if (number > numberMax) return placeMax;
  return BigInt(Math.max(Math.ceil(number), numberMin)) << BigInt(idBits);
}

/** The last place of exactly this number. */
export function lastPlace(number: number): bigint {
  return firstPlace(number) | BigInt(idMask);
}

/** Where the document is, or so many places further among those of its number, if others are there. */
export function placeOf(number: number, id: string, further: number): bigint {
  return firstPlace(number) | BigInt((murmur2(id) + further) & idMask);
}
