// Keeps a process's suppression lists at the log's end: all that it has, then each event as it is appended, by whomever.

import { settingsTopic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventLog, LogEntry } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { FoldedSuppressions } from './list.ts';
import { createSuppressionList } from './list.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'tail' | 'ends' | 'read'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface FollowedSuppressions {
  readonly list: FoldedSuppressions;
  stop(): void;
}

/** Before another try, when the log can't be read. */
const retryMs = 1_000;

/**
 * Resolves once the lists have what the log had when it was asked. Nothing may be sent before.
 *
 * @param onFold called with each event of after the call, once the lists have it.
 * @throws what keeps the log from being read, once the signal aborts
 */
export async function followSuppressions(
  { log, clock, logger }: Dependencies,
  signal: AbortSignal,
  onFold: (entry: LogEntry) => void = () => {},
): Promise<FollowedSuppressions> {
  const list = createSuppressionList();
  let waiting: LogEntry[] | null = [];
  const fold = (entry: LogEntry) => {
    list.fold(entry);
    onFold(entry);
  };
  const stop = log.tail([settingsTopic], (entry) => {
    if (waiting === null) fold(entry);
    else waiting.push(entry);
  });
  for (;;) {
    try {
      await foldAll(log, list);
      break;
    } catch (err) {
      if (signal.aborted) throw err;
      logger.warn('the suppression lists can not be read; trying again', { err });
      await clock.sleep(retryMs, signal);
    }
  }
  for (const entry of waiting) fold(entry);
  waiting = null;
  return { list, stop };
}

async function foldAll(log: Dependencies['log'], list: FoldedSuppressions): Promise<void> {
  const ends = await log.ends(settingsTopic);
  for (const [partition, to] of ends.entries())
    for await (const entry of log.read({ topic: settingsTopic, partition, from: 0, to })) list.fold(entry);
}
