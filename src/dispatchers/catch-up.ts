// Reads once more what tenants beyond their share left in the log, a range at a time, whenever one of them has room again.
// The log is the queue: nothing is written for it, and what waits there takes no memory.

import type { Topic } from '../domain/topics.ts';
import { heldBytes } from '../domain/held-bytes.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import { nothingAnswered } from './answered.ts';
import type { Answered } from './answered.ts';
import type { OwnedNumber } from './claims.ts';
import type { ComeBack } from './come-back.ts';
import { nextTurn } from './next-turn.ts';
import { createPlaces } from './places.ts';
import type { Waiting } from './places.ts';
import { passedPerTaken, turnEventsMax } from './reading.ts';
import type { Reading } from './reading.ts';
import { isWork } from './work-item.ts';

export interface CatchUpDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends'>;
  readonly clock: Pick<Clock, 'sleep' | 'random'>;
  readonly untilItWorks: <T>(number: OwnedNumber, topic: Topic, ask: () => Promise<T>) => Promise<T | null>;
  /** What was taken goes the way of everything that is read. */
  readonly offer: (reading: Reading, entry: LogEntry, answered: Answered) => void;
}

/** Until the number is over. Never rejects. */
export type CatchUp = (reading: Reading) => Promise<void>;

/** Ranges read at once, of all numbers and lanes: each has up to 2 MiB of pages in hand on Kafka, 0.5 MiB on SQLite, and is over in some 20 ms. */
const rangesMax = 4;
/** A range of which the log shows nothing now, though it was read before: its leader has changed. */
const emptyRetryMs = 200;

export function createCatchUp({ log, clock, untilItWorks, offer }: CatchUpDependencies): CatchUp {
  const places = createPlaces(rangesMax, clock.random);

  return async (reading) => {
    const { number, tracker } = reading;
    // All that were taken begin at once. In the order of their numbers the last ones' turn would never come where no process lives for longer than the others take.
    let waiting: Waiting = 'anywhere';
    for (;;) {
      const range = await tracker.comeBack();
      if (range === null || number.isOver) return;
      const isDone = await untilItWorks(number, tracker.topic, () => places(() => readAgain(reading, range), waiting));
      waiting = 'last';
      if (isDone === null || number.isOver) return;
    }
  };

  async function readAgain(reading: Reading, range: ComeBack): Promise<void> {
    const { number, tracker } = reading;
    if (number.isOver) return;
    let seenBelow = range.from;
    try {
      let done = 0;
      for await (const entry of log.read(rangeOf(tracker, range))) {
        const answered = reading.answered.isOver ? nothingAnswered : await reading.answered.of([entry]);
        const seen = number.isOver ? 'full' : seeEntry(reading, range, entry, answered);
        if (seen === 'full') return;
        seenBelow = entry.offset + 1;
        done += seen === 'taken' ? 1 : 1 / passedPerTaken;
        if (done < turnEventsMax) continue;
        done = 0;
        await nextTurn();
      }
      if (seenBelow === range.from) seenBelow = await seenBelowOfEmpty(reading, range);
    } finally {
      if (!number.isOver) range.end(seenBelow);
      reading.answered.forgetIfDone();
    }
  }

  function seeEntry(
    reading: Reading,
    range: ComeBack,
    entry: LogEntry,
    answered: Answered,
  ): ReturnType<ComeBack['see']> {
    const { head, offset, size } = entry;
    if (head === null || !isWork(head)) return 'passed';
    const seen = range.see({ tenantId: head.tenantId, offset, bytes: heldBytes(size) });
    if (seen === 'taken') offer(reading, entry, answered);
    return seen;
  }

  /** A range may hold nothing any more, where retention has deleted it; where it only seems so, it is to be read again. */
  async function seenBelowOfEmpty({ number, tracker }: Reading, range: ComeBack): Promise<number> {
    const { topic, partition } = tracker;
    const end = (await log.ends(topic, [partition]))[partition] ?? 0;
    if (end >= range.to) {
      const again = log.read(rangeOf(tracker, range))[Symbol.asyncIterator]();
      const { done } = await again.next();
      await again.return?.();
      return done === true ? range.to : range.from;
    }
    await clock.sleep(emptyRetryMs, number.claim.signal);
    return range.from;
  }
}

function rangeOf(
  { topic, partition }: { topic: Topic; partition: number },
  { from, to }: ComeBack,
): { topic: Topic; partition: number; from: number; to: number } {
  return { topic, partition, from, to };
}
