// What of one topic of a number was answered before this process had it: looked for once, with the first events of which any may be, and kept until all
// those were read that may have been.

import type { Topic } from '../domain/topics.ts';
import { deliveriesTopic } from '../domain/topics.ts';
import type { LogEntry } from '../ports/event-log.ts';
import { nothingAnswered } from './answered.ts';
import type { Answered, FindAnswered } from './answered.ts';
import type { EndsNow } from './ends-now.ts';
import type { PartitionTracker } from './read-ahead.ts';

export interface AnsweredBefore {
  /** What of these was answered, as far as it may be. @throws Error when the log can't be read: it is looked for again by the next call */
  of(entries: readonly LogEntry[]): Promise<Answered>;
  /** None of what will be read on was answered. */
  noteReadPast(): void;
  /** To be called when what was left in the log was read: what was found takes no memory from then on, if nothing more is left from before. */
  forgetIfDone(): void;
  readonly isOver: boolean;
}

/** Where a person has said where to begin: everything from there on is done. */
export const askedToBegin: AnsweredBefore = {
  of: () => Promise.resolve(nothingAnswered),
  noteReadPast() {},
  forgetIfDone() {},
  isOver: true,
};

/** A request that came to the log in less is no repeat: whoever says it once more has waited for an answer first. */
const promptMs = 250;

/**
 * Whether whoever had the number before may have answered it. A request that came after it was taken can't be answered, if it came at once; a repeat can: of a
 * request that was resent, of what the scheduler says once more, of what two people have asked for. They have one id, and the first of them may be answered.
 */
export function mayBeAnswered({ head, offset, appendedAt }: LogEntry, endWhenTaken: number): boolean {
  const isPrompt = head?.type === 'NotificationRequested' && appendedAt - head.occurredAt < promptMs;
  return !isPrompt || offset < endWhenTaken;
}

export function createAnsweredBefore(of: {
  readonly topic: Topic;
  readonly partition: number;
  readonly tracker: Pick<PartitionTracker, 'isRestoring' | 'lagsBelow'>;
  readonly endsNow: EndsNow;
  readonly findAnswered: FindAnswered;
}): AnsweredBefore {
  const { topic, partition, tracker, endsNow, findAnswered } = of;
  const endWhenTaken = endsNow({ topic, partition });
  const outcomesEndWhenTaken = endsNow({ topic: deliveriesTopic, partition });
  let end = Infinity;
  let since: number | null = null;
  let isReadPast = false;
  let isOver = false;
  let finding: Promise<Answered> | null = null;

  function find(first: LogEntry, outcomesEnd: number): Promise<Answered> {
    // What is answered of those that lag is among the latest outcomes, however old their work is.
    if (tracker.isRestoring()) return findAnswered({ partition, since: 0, first: 0, outcomesEnd });
    const begin = since ?? first.appendedAt;
    return findAnswered({
      partition,
      since: begin,
      first: tracker.lagsBelow(end) ? begin : first.appendedAt,
      outcomesEnd,
    });
  }

  function forgetIfDone(): void {
    if (!isReadPast || tracker.lagsBelow(end)) return;
    isOver = true;
    finding = null;
  }

  return {
    get isOver() {
      return isOver;
    },
    async of(entries) {
      if (isOver) return nothingAnswered;
      since ??= entries[0]?.appendedAt ?? null;
      end = await endWhenTaken;
      // A flood's outcomes aren't read for what is new to all.
      const first = entries.find((entry) => mayBeAnswered(entry, end));
      if (first === undefined) return finding ?? nothingAnswered;
      const outcomesEnd = await outcomesEndWhenTaken;
      finding ??= find(first, outcomesEnd);
      try {
        return await finding;
      } catch (err) {
        finding = null;
        throw err;
      }
    },
    noteReadPast() {
      isReadPast = true;
      forgetIfDone();
    },
    forgetIfDone,
  };
}
