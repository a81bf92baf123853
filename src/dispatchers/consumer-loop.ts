// Reads what a dispatcher owns, each partition number and topic: onwards as it comes, and once more what tenants beyond their share left in the log.

import { waitsUntil } from '../domain/delivery-request.ts';
import { heldBytes } from '../domain/held-bytes.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import { askedToBegin, createAnsweredBefore } from './answered-before.ts';
import { nothingAnswered } from './answered.ts';
import type { Answered, FindAnswered } from './answered.ts';
import { createCatchUp } from './catch-up.ts';
import type { OwnedNumber } from './claims.ts';
import { createEndsNow } from './ends-now.ts';
import type { Executor } from './executor.ts';
import { nextTurn } from './next-turn.ts';
import type { PartitionTracker, ReadAhead } from './read-ahead.ts';
import { turnEventsMax } from './reading.ts';
import type { Reading } from './reading.ts';
import type { RecentIds } from './recent-ids.ts';
import { MissingPositionError, startPosition } from './start-position.ts';
import type { StartFrom } from './start-position.ts';
import { finishItem, isWork, isWorkEvent, workItemOf } from './work-item.ts';

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

/** The same in bytes of the log; one event is taken in any case. */
const turnBytesMax = 128 * 1024;
const retryFirstMs = 100;
const retryMaxMs = 5_000;

export function createConsumerLoop(dependencies: ConsumerLoopDependencies): ReadTopic {
  const { group, log, clock, logger, executor, readAhead, recentIds, findAnswered, from, fail } = dependencies;
  const endsNow = createEndsNow(log);
  let itemsRead = 0;
  const catchUp = createCatchUp({ log, clock, untilItWorks, offer });

  async function readTopic(number: OwnedNumber, topic: Topic): Promise<void> {
    const reading = await untilItWorks(number, topic, () => open(number, topic));
    if (reading === null) return;
    void catchUp(reading);
    await readOn(reading);
  }

  async function readOn(reading: Reading): Promise<void> {
    const { number, tracker } = reading;
    const { topic } = tracker;
    const reader = number.claim.read(new Map([[topic, tracker.start]]));
    const take = () => reader.take({ eventsMax: turnEventsMax, bytesMax: turnBytesMax });
    while (await tracker.mayReadOn()) {
      const entries = number.isOver ? null : await untilItWorks(number, topic, take);
      if (entries === null || entries.length === 0 || number.isOver) return;
      let answered = await untilItWorks(number, topic, () => reading.answered.of(entries));
      if (answered === null || number.isOver) return;
      for (const entry of entries) {
        if (answered !== nothingAnswered && answered.isAfter(entry)) {
          answered = nothingAnswered;
          reading.answered.noteReadPast();
        }
        readEntry(reading, entry, answered);
      }
      await nextTurn();
    }
  }

  async function open(number: OwnedNumber, topic: Topic): Promise<Reading> {
    const { claim } = number;
    const { partition } = claim;
    const committed = claim.committed.get(topic) ?? null;
    const start = await startPosition({ group, topic, partition, committed }, log, from);
    const tracker = readAhead.track({ topic, partition }, start, committed);
    if (number.isOver) tracker.close();
    else number.trackers.push(tracker);
    const asked = { topic, partition, tracker, endsNow, findAnswered };
    return { number, tracker, answered: committed === null ? askedToBegin : createAnsweredBefore(asked) };
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

  function readEntry(reading: Reading, entry: LogEntry, answered: Answered): void {
    const { head, offset } = entry;
    const { tracker } = reading;
    // What doesn't decode is the notifications projector's dead letter; here it is passed over.
    if (head === null || !isWork(head)) return tracker.pass(offset);
    const { tenantId, eventId } = head;
    const admission = tracker.admit({ tenantId, offset, bytes: heldBytes(entry.size) });
    if (admission === 'taken') offer(reading, entry, answered);
    else if (admission === 'crowded') offer(reading, entry, answered, executor.putOff);
    else if (admission === 'finished') recentIds.isRepeat(eventId, tracker);
  }

  /** Of what was taken: a resent produce repeats its event, and what is answered already was done. */
  function offer({ number, tracker }: Reading, entry: LogEntry, answered: Answered, take = executor.offer): void {
    const { head, event, offset } = entry;
    const bytes = heldBytes(entry.size);
    if (event === null || !isWorkEvent(event)) {
      if (head !== null) tracker.finish({ tenantId: head.tenantId, offset, bytes });
      return;
    }
    const item = workItemOf(event, { number, tracker, offset, bytes, order: itemsRead++ });
    const isAnswered = answered.has(entry);
    if (recentIds.isRepeat(event.eventId, tracker) || isAnswered) return finishItem(item);
    const sendAt = waitsUntil(event);
    if (sendAt === null) take(item);
    else executor.defer(item, sendAt);
  }

  return readTopic;
}
