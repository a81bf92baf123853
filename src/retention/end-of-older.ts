// Where what is older than a horizon ends.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import { takenAt } from '../projections/taken-at.ts';

export interface EndOfOlderDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends' | 'offsetAt'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * The first offset that isn't older than `timeMs`. Where the log's times are ahead of the clock, which was ahead once, it goes by when events happened, and past
 * those that happened by that clock: nothing would be old again before that day comes.
 */
export async function endOfOlder(
  { log, clock }: EndOfOlderDependencies,
  topic: Topic,
  partition: number,
  timeMs: number,
): Promise<number> {
  let to = await log.offsetAt(topic, partition, timeMs);
  const end = (await log.ends(topic))[partition] ?? 0;
  for await (const entry of log.read({ topic, partition, from: to, to: end, aheadBytes: 1 })) {
    const now = clock.now();
    const at = takenAt(entry, now);
    if (at < timeMs) to = entry.offset + 1;
    // What happened by the clock that was ahead says nothing: whoever comes next does.
    else if (at <= now) break;
  }
  return to;
}
