// Where what is older than a horizon ends.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import { takenAt } from '../projections/taken-at.ts';

export interface EndOfOlderDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends' | 'offsetAt'>;
  readonly clock: Pick<Clock, 'now'>;
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** What earlier passes have seen of a topic: everything below an offset, and where what is older ended by that. */
export interface Looked {
  readonly below: number;
  readonly older: number;
  /** Than this. */
  readonly timeMs: number;
}

/** Looked through in one pass: some 20 ms. */
const lookedMax = 2_000;

/**
 * The first offset that isn't older than `timeMs`. Where the log's times are ahead of the clock, which was ahead once, it goes by when events happened, and past
 * those that happened by that clock: nothing would be old again before that day comes.
 * @param looked by topic, kept from pass to pass
 */
export async function endOfOlder(
  { log, clock, inTurn }: EndOfOlderDependencies,
  looked: Map<Topic, Looked>,
  { topic, partition }: { readonly topic: Topic; readonly partition: number },
  timeMs: number,
): Promise<number> {
  const to = await log.offsetAt(topic, partition, timeMs);
  const end = (await log.ends(topic))[partition] ?? 0;
  const isAhead = ({ appendedAt }: LogEntry): boolean => appendedAt > clock.now();
  for await (const first of log.read({ topic, partition, from: to, to: end, aheadBytes: 1 })) {
    if (isAhead(first)) return inTurn(lookOn);
    break;
  }
  return to;

  async function lookOn(): Promise<number> {
    const before = looked.get(topic);
    // Of a horizon that went back nothing is known.
    const known = before !== undefined && before.timeMs <= timeMs ? before : null;
    const from = Math.max(to, known?.below ?? 0);
    let older = Math.max(to, known?.older ?? 0);
    for await (const entry of log.read({ topic, partition, from, to: Math.min(end, from + lookedMax) })) {
      const now = clock.now();
      const at = takenAt(entry, now);
      if (at < timeMs) older = entry.offset + 1;
      // What happened by the clock that was ahead says nothing: whoever comes next does.
      else if (at <= now) break;
      looked.set(topic, { below: entry.offset + 1, older, timeMs });
    }
    return older;
  }
}
