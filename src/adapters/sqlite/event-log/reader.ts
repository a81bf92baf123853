// Reads some topics of one partition number onwards: the oldest event first over the topics, each partition in order of its offsets.

import type { Topic } from '../../../domain/topics.ts';
import type { LogEntry, PartitionReader } from '../../../ports/event-log.ts';
import type { Ends } from './ends.ts';
import type { Page, Row, Rows } from './rows.ts';
import type { Sleeper, Wakeups } from './wakeups.ts';

export interface ReaderDependencies {
  readonly page: Page;
  readonly rows: Rows;
  readonly ends: Ends;
  readonly wakeups: Wakeups;
}

/** What the owner of a reader says of it: whether it may go on, and whom to wake when it may not. */
export interface ReaderOwner {
  readonly signal: AbortSignal;
  /** Woken (and forgotten) once the signal has aborted. */
  readonly sleepers: Set<Sleeper>;
}

interface Source {
  readonly slot: number;
  readonly topic: Topic;
  readonly isLast: boolean;
  /** The next offset to fetch; everything below it is in `rows`, was handed out, or isn't wanted. */
  next: number;
  /** How far the log reached when it was last looked at. */
  end: number;
  rows: readonly Row[];
  /** The place in `rows` of the next one to hand out. */
  at: number;
}

/** Rows fetched of a topic at a time: 48 x 13 topics x 48 readers of a process x 0.6 KB are 18 MB, when all of them read far behind; 60 MB if each had 2 KiB, and larger ones aren't held. */
const pageRows = 48;
/** Offsets looked through at a time for wanted types, at about 2 us each. */
const scanOffsets = 1000;
/** Pages without a wanted row in one turn of the event loop: 4 x 2 ms. */
const emptyPagesMax = 4;

export interface ReadFrom {
  readonly slot: number;
  readonly topic: Topic;
  readonly offset: number;
  /** Of `afterOthers`. */
  readonly isLast: boolean;
}

export function createReader(
  { page, rows, ends, wakeups }: ReaderDependencies,
  owner: ReaderOwner,
  from: readonly ReadFrom[],
): PartitionReader {
  const sources = from.map(({ slot, topic, isLast, offset: next }): Source => {
    return { slot, topic, isLast, next, end: next, rows: [], at: 0 };
  });
  const slots = from.map(({ slot }) => slot);
  const positions = () => sources.map(({ rows: fetched, at, next }) => fetched[at]?.[0] ?? next);
  /** The sum of the positions at the last answer. */
  let told = sum(positions());
  const sleeping = new Set<Sleeper>();
  let isClosed = false;

  /** Fetches the next page of a source without rows; false when it held nothing that is wanted. */
  const fill = (source: Source): boolean => {
    const to = Math.min(source.end, source.next + scanOffsets);
    source.rows = page(source.slot, source.next, to, pageRows);
    source.at = 0;
    const last = source.rows.at(-1);
    source.next = last !== undefined && source.rows.length === pageRows ? last[0] + 1 : to;
    return last !== undefined;
  };

  /** It may hold something older than what is here of the others. */
  const isBehind = ({ at, rows: fetched, next, end }: Source): boolean => at >= fetched.length && next < end;

  const look = () => {
    for (const source of sources) source.end = Math.max(source.next, ends.get(source.slot));
  };

  const pull = (eventsMax: number, bytesMax: number): LogEntry[] => {
    const entries: LogEntry[] = [];
    let bytes = 0;
    let emptyPages = 0;
    look();
    while (entries.length < eventsMax && bytes < bytesMax) {
      let oldest: Source | undefined;
      let oldestAt = Infinity;
      for (const source of sources) {
        if (source.at >= source.rows.length) {
          if (source.next >= source.end || emptyPages >= emptyPagesMax) continue;
          if (!fill(source)) {
            emptyPages++;
            continue;
          }
        }
        const appendedAt = source.rows[source.at]?.[1] ?? Infinity;
        if (appendedAt < oldestAt) [oldest, oldestAt] = [source, appendedAt];
      }
      if (oldest?.isLast === true && sources.some((source) => !source.isLast && isBehind(source))) break;
      const row = oldest?.rows[oldest.at];
      if (oldest === undefined || row === undefined) break;
      const entry = decode(oldest.slot, row, entries.length > 0);
      if (entry === null) break;
      oldest.at++;
      bytes += entry.size;
      entries.push(entry);
    }
    return entries;
  };

  /** null instead of an error when there are entries to hand out first: the error comes with the next call. */
  const decode = (slot: number, row: Row, orNull: boolean): LogEntry | null => {
    try {
      return rows.entry(slot, row);
    } catch (error) {
      if (orNull) return null;
      throw error;
    }
  };

  const sleep = () =>
    new Promise<void>((resolve) => {
      const sleeper: Sleeper = {
        slots,
        wake() {
          owner.sleepers.delete(sleeper);
          sleeping.delete(sleeper);
          resolve();
        },
      };
      owner.sleepers.add(sleeper);
      sleeping.add(sleeper);
      wakeups.add(sleeper);
      // Another thread may have moved the ends between the look and the addition.
      if (sources.some(({ slot, next }) => ends.get(slot) > next)) {
        wakeups.remove(sleeper);
        sleeper.wake();
      }
    });

  return {
    async take({ eventsMax, bytesMax, passedMax = Infinity }) {
      for (;;) {
        if (owner.signal.aborted || isClosed) return [];
        const entries = pull(eventsMax, bytesMax);
        const reached = sum(positions());
        if (entries.length > 0 || reached - told >= passedMax) {
          told = reached;
          return entries;
        }
        if (sources.some(({ next, end }) => next < end)) await turn();
        else await sleep();
      }
    },

    position() {
      const all = positions();
      return new Map(sources.map(({ topic }, i) => [topic, all[i] ?? 0]));
    },

    async atEnd() {
      look();
      const asked = sources.map(({ end }) => end);
      for (const [i, source] of sources.entries()) {
        while (source.at >= source.rows.length && source.next < (asked[i] ?? 0)) {
          if (!fill(source)) await turn();
        }
        if (source.at < source.rows.length) return false;
      }
      return true;
    },

    close() {
      isClosed = true;
      for (const sleeper of sleeping) {
        wakeups.remove(sleeper);
        sleeper.wake();
      }
    },
  };
}

/** Lets the event loop turn once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
