// What was sent must be said: an outcome is appended again and again until it is durable, and its work event is finished only then.

import type { Channel } from '../domain/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendResult, EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { OutcomeEvent } from './outcome-events.ts';
import { finishItem } from './work-item.ts';
import type { WorkItem } from './work-item.ts';

export interface OutcomeAppender {
  /** Outcomes that aren't durable yet; at most as many as events were read ahead. */
  readonly waiting: number;
  /** How long the oldest of them has waited, ms; 0 when there is none. */
  oldestWaitMs(): number;
  /** Resolves when the outcome is durable and the item finished, or when it was given up. Never rejects. */
  say(event: OutcomeEvent, item: WorkItem): Promise<void>;
  /** The process ends: what isn't durable yet is left for whoever reads the work event again. */
  giveUp(): void;
}

const firstDelayMs = 50;
const delayMaxMs = 5_000;

export function createOutcomeAppender(by: {
  channel: Channel;
  log: EventLog;
  clock: Clock;
  logger: Logger;
}): OutcomeAppender {
  const { channel, log, clock, logger } = by;
  /** In the order in which they came to be; monotonic ms. */
  const waitingSince = new Map<WorkItem, number>();
  const givenUp = new AbortController();
  let isFailing = false;

  async function say(event: OutcomeEvent, item: WorkItem): Promise<void> {
    waitingSince.set(item, clock.monotonic());
    let result = await append(event);
    for (let delayMs = firstDelayMs; result.kind !== 'durable'; delayMs = Math.min(delayMs * 2, delayMaxMs)) {
      noteFailing(result.reason);
      await clock.sleep(delayMs, givenUp.signal);
      if (givenUp.signal.aborted) return;
      result = await append(event);
    }
    waitingSince.delete(item);
    finishItem(item);
    if (isFailing) noteWorking();
  }

  /** One line when appends begin to fail and one when they work again, not one for each outcome and try. */
  function noteFailing(reason: string): void {
    if (!isFailing) logger.warn('outcomes can not be appended; they are tried again without end', { channel, reason });
    isFailing = true;
  }

  function noteWorking(): void {
    isFailing = false;
    logger.info('outcomes are appended again', { channel, waiting: waitingSince.size });
  }

  /** The port never rejects for reasons of the log; should it all the same, that is no reason to lose the outcome. */
  async function append(event: OutcomeEvent): Promise<AppendResult> {
    try {
      return await log.append(event);
    } catch (err) {
      logger.error('an append threw', { channel, type: event.type, err });
      return { kind: 'unknown', reason: 'the append threw' };
    }
  }

  return {
    get waiting() {
      return waitingSince.size;
    },
    oldestWaitMs() {
      for (const since of waitingSince.values()) return clock.monotonic() - since;
      return 0;
    },
    say,
    giveUp: () => givenUp.abort(),
  };
}
