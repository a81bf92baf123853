// Says AttemptStarted of an attempt that takes long: it makes the record show PROCESSING, the outcome tells everything else.

import type { Channel } from '../domain/events.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Logger } from '../ports/logger.ts';
import type { Attempt } from './attempt.ts';
import type { OutcomeEvents } from './outcome-events.ts';

/** Once an attempt, however often it is called; never rejects, and is not tried again. */
export type SayStarted = (attempt: Attempt, provider: string) => Promise<void>;

export function createSayStarted(by: {
  channel: Channel;
  log: EventLog;
  logger: Logger;
  outcomeEvents: OutcomeEvents;
}): SayStarted {
  const { channel, log, logger, outcomeEvents } = by;
  return async (attempt, provider) => {
    if (attempt.isStartSaid) return;
    attempt.isStartSaid = true;
    const result = await log.append(outcomeEvents.started(attempt, provider));
    if (result.kind !== 'durable')
      logger.warn('AttemptStarted could not be appended', { channel, reason: result.reason });
  };
}
