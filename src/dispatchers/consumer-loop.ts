// Reads what a dispatcher owns, a loop per partition number and topic, as far ahead as there is room, and passes it to the executor.

import { encodedWithin, heldBytes } from '../domain/held-bytes.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry, PartitionReader } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Answered, FindAnswered } from './answered.ts';
import type { OwnedNumber } from './claims.ts';
import type { Executor } from './executor.ts';
import { nextTurn } from './next-turn.ts';
import { createOffsetWindow } from './offset-window.ts';
import type { PartitionTracker, ReadAhead } from './read-ahead.ts';
import type { RecentIds } from './recent-ids.ts';
import { MissingPositionError, startPosition } from './start-position.ts';
import type { StartFrom } from './start-position.ts';
import { isWorkEvent, workItemOf } from './work-item.ts';
import type { Place } from './work-item.ts';

export interface ConsumerLoopDependencies {
  readonly group: string;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly executor: Executor;
  readonly readAhead: ReadAhead;
  readonly recentIds: RecentIds<PartitionTracker>;
  readonly findAnswered: FindAnswered;
  readonly from: StartFrom | undefined;
  /** The dispatcher can't go on. */
  readonly fail: (error: Error) => void;
}

/** Reads one topic of a number until the number is over. Never rejects. */
export type ReadTopic = (number: OwnedNumber, topic: Topic) => Promise<void>;

const nothingAnswered: Answered = { has: () => false };
const retryFirstMs = 100;
const retryMaxMs = 5_000;

export function createConsumerLoop(dependencies: ConsumerLoopDependencies): ReadTopic {
  const { group, log, clock, logger, executor, readAhead, recentIds, findAnswered, from, fail } = dependencies;
  let itemsRead = 0;

  async function readTopic(number: OwnedNumber, topic: Topic): Promise<void> {
    const opened = await untilItWorks(number, topic, () => open(number, topic));
    if (opened === null) return;
    const { reader, tracker } = opened;
    let answered: Answered | null = null;
    for (;;) {
      const room = await tracker.room();
      if (room === null || number.isOver) return;
      const { eventsMax } = room;
      const bytesMax = encodedWithin(room.bytesMax);
      const entries = await untilItWorks(number, topic, () => reader.take({ eventsMax, bytesMax }));
      if (entries === null || entries.length === 0 || number.isOver) return;
      answered ??= await untilItWorks(number, topic, () => answeredOf(number, topic, entries));
      if (answered === null || number.isOver) return;
      for (const entry of entries) takeIn(entry, { number, tracker }, answered);
      await nextTurn();
    }
  }

  async function open(
    number: OwnedNumber,
    topic: Topic,
  ): Promise<{ reader: PartitionReader; tracker: PartitionTracker }> {
    const { claim } = number;
    const committed = claim.committed.get(topic) ?? null;
    const start = await startPosition({ group, topic, partition: claim.partition, committed }, log, from);
    const tracker = readAhead.track(topic, claim.partition, createOffsetWindow(start, committed));
    const reader = claim.read(new Map([[topic, start.offset]]));
    if (number.isOver) tracker.close();
    else number.trackers.push(tracker);
    return { reader, tracker };
  }

  /** Where a person has said where to begin, everything from there on is done. */
  async function answeredOf({ claim }: OwnedNumber, topic: Topic, [first]: readonly LogEntry[]): Promise<Answered> {
    const isOurs = first !== undefined && (claim.committed.get(topic) ?? null) !== null;
    return isOurs ? findAnswered(claim.partition, first.appendedAt) : nothingAnswered;
  }

  /** What the log can't do now it is asked for again, with growing delay; null once the number is over. */
  async function untilItWorks<T>(number: OwnedNumber, topic: Topic, ask: () => Promise<T>): Promise<T | null> {
    for (let delayMs = retryFirstMs; ; delayMs = Math.min(delayMs * 2, retryMaxMs)) {
      try {
        return await ask();
      } catch (err) {
        if (number.isOver) return null;
        if (err instanceof MissingPositionError) {
          fail(err);
          return null;
        }
        logger.error('a partition can not be read; trying again', {
          group,
          topic,
          partition: number.claim.partition,
          delayMs,
          err,
        });
      }
      await clock.sleep(delayMs, number.claim.signal);
      if (number.isOver) return null;
    }
  }

  function takeIn(entry: LogEntry, of: Pick<Place, 'number' | 'tracker'>, answered: Answered): void {
    const { event, offset } = entry;
    const { tracker } = of;
    const bytes = heldBytes(entry.size);
    const isRepeat = event !== null && recentIds.isRepeat(event.eventId, tracker);
    if (!tracker.begin(offset, bytes)) return;
    // What doesn't decode is the notifications projector's dead letter; here it is passed over.
    if (event === null || isRepeat || !isWorkEvent(event) || answered.has(entry)) return tracker.finish(offset, bytes);
    const item = workItemOf(event, { ...of, offset, bytes, order: itemsRead++ });
    const sendAt = event.type === 'NotificationRequested' ? event.request.sendAt : null;
    if (sendAt === null) executor.offer(item);
    else executor.defer(item, sendAt);
  }

  return readTopic;
}
