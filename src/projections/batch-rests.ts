// What a batch costs, by what is in it, and how long its number rests after it.

import type { LogEntry } from '../ports/event-log.ts';
import type { FoldPace, Write } from '../ports/read-model-store.ts';
import { foldBytesMax } from './read-model.ts';

/**
 * A batch with as much in it costs what it holds rather than what a transaction costs: there is nothing to gather by a rest. One event of 195 KiB is such a
 * batch: with a rest after each, a tenant that posts ten of them a second would leave its number behind for good, and all whose number it is.
 */
const largeEvents = 100;
const largeBytes = foldBytesMax / 4;
/** 500 documents of 2 KiB: 30 ms of the thread. Usual ones are 0.7 KiB, and a full batch makes some 270 of them. */
const heavyBytes = 4 * foldBytesMax;

/** 5 ms of the thread and more. */
export function isLarge(entries: readonly LogEntry[]): boolean {
  if (entries.length >= largeEvents) return true;
  let bytes = 0;
  for (const { size } of entries) bytes += size;
  return bytes >= largeBytes;
}

/** What is large by its bytes, not by its number. */
export function isHeavy(entries: readonly LogEntry[]): boolean {
  return entries.length < largeEvents;
}

/** What documents were written that make a batch large, however small its events were: the next of its number is thought to be of the same kind. */
export function sizeOf(writes: readonly Write[]): 'small' | 'large' | 'heavy' {
  let bytes = 0;
  for (const { document } of writes) {
    bytes += document === null ? 0 : textLengthOf(document);
    if (bytes >= heavyBytes) return 'heavy';
  }
  return bytes >= largeBytes ? 'large' : 'small';
}

/** Until when a number rests after these; whoever catches up doesn't. */
export function restAfter(entries: readonly LogEntry[], { fewMs, manyMs, inThread }: FoldPace, now: number): number {
  if (entries.length === 0 || isLarge(entries)) return -Infinity;
  const ms = entries.length >= 5 ? manyMs : fewMs;
  return inThread ? Math.ceil(now / ms) * ms : now + ms;
}

/** The characters of its texts. */
function textLengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  if (Array.isArray(value)) for (const inner of value) sum += textLengthOf(inner);
  // Plain data. Lists of keys were 3 % of all that the projectors threw away of a flood of webhooks.
  else for (const key in value) sum += textLengthOf((value as Readonly<Record<string, unknown>>)[key]);
  return sum;
}
