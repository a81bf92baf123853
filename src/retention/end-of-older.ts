// Where what is older than a horizon ends.

import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/event-log.ts';
import { takenAt } from '../projections/taken-at.ts';

export interface EndOfOlderDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends' | 'offsetAt'>;
  readonly clock: Pick<Clock, 'now'>;
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Something was looked through. */
  moved(): void;
}

/** What earlier passes have seen of a topic: everything below an offset, and where what is older ended by that. */
export interface Looked {
  readonly below: number;
  readonly older: number;
  /** Than this. */
  readonly timeMs: number;
}

/** Events looked through in one turn: some 20 ms. */
const lookedMax = 2_000;

/**
 * The first offset that isn't older than `timeMs`. Where the log's times are ahead of the clock, which was ahead once, it goes by when events happened, and past
 * those that happened by that clock: nothing would be old again before that day comes. All of them in one pass, however many: what is looked at again and again
 * (horizon.ts) begins anew each time.
 * @param looked by topic, kept from pass to pass
 */
export async function endOfOlder(
  { log, clock, inTurn, moved }: EndOfOlderDependencies,
  looked: Map<Topic, Looked>,
  { topic, partition, signal }: { readonly topic: Topic; readonly partition: number; readonly signal: AbortSignal },
  timeMs: number,
): Promise<number> {
  const to = await log.offsetAt(topic, partition, timeMs);
  const end = (await log.ends(topic, [partition]))[partition] ?? 0;
  let isAhead = false;
  // Of an erased tenant's as well the times are what they are, and behind a long stretch of such the first of others is far.
  const ofErased = 'shown';
  for await (const { appendedAt } of log.read({ topic, partition, from: to, to: end, aheadBytes: 1, ofErased })) {
    isAhead = appendedAt > clock.now();
    break;
  }
  if (!isAhead) return to;
  let isThrough: boolean;
  do {
    isThrough = await inTurn(lookOn);
    if (!isThrough) moved();
  } while (!isThrough && !signal.aborted);
  return Math.max(to, looked.get(topic)?.older ?? 0);

  /** Answers whether it came to what is younger, or to the log's end. */
  async function lookOn(): Promise<boolean> {
    const before = looked.get(topic);
    // Of a horizon that went back nothing is known.
    const known = before !== undefined && before.timeMs <= timeMs ? before : null;
    let below = Math.max(to, known?.below ?? 0);
    let older = Math.max(to, known?.older ?? 0);
    let left = lookedMax;
    for await (const entry of log.read({ topic, partition, from: below, to: end, ofErased })) {
      const now = clock.now();
      const at = takenAt(entry, now);
      if (at < timeMs) older = entry.offset + 1;
      // What happened by the clock that was ahead says nothing: whoever comes next does.
      else if (at <= now) break;
      below = entry.offset + 1;
      // Events, not offsets: what was trimmed leaves none, for as many as there were.
      if (--left === 0) break;
    }
    looked.set(topic, { below, older, timeMs });
    return left > 0;
  }
}
