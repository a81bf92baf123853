// What of a partition is answered already. A number that is taken over begins at its commit, and an outcome can be in the log before the commit that
// finishes its work event: such work is passed over, neither sent again nor, where a repeat would fail, tried again while its record says DELIVERED.

import type { Channel, DomainEvent } from '../domain/events.ts';
import type { EventId } from '../domain/ids.ts';
import { deliveriesTopic } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';
import { nextTurn } from './next-turn.ts';

export interface Answered {
  /** Whether an outcome of this work event was found. */
  has(work: LogEntry): boolean;
  /** Whether this work event, and so all that the log took after it, can have none. */
  isAfter(work: LogEntry): boolean;
}

export const nothingAnswered: Answered = { has: () => false, isAfter: () => true };

export interface Asked {
  readonly partition: number;
  /** When the log took the first event that isn't committed as finished, UTC ms. */
  readonly since: number;
  /** The same of the first event that may be answered. */
  readonly first: number;
  /** Where the outcomes ended when the number was taken. */
  readonly outcomesEnd: number;
}

/** @throws Error when the log can't be read */
export type FindAnswered = (asked: Asked) => Promise<Answered>;

/**
 * Outcomes of all channels that are read back at most: of a number that takes 400 a second those of 25 s, and commits come every 200 ms. A number that waits
 * for longer than that, in a backlog, has its uncommitted outcomes among the last ones all the same. Some 150 bytes an id.
 */
const outcomesMax = 10_000;
/** How much the clocks of the brokers that lead work and outcomes may differ. */
const clockSkewMs = 5_000;
/** Decoded in one turn of the event loop: 256 x 4 us are 1 ms. */
const turnMax = 256;

/** What the topics of a number ask at once is looked for once: when it is taken, all of them ask for the latest. */
export function createFindAnswered(by: { channel: Channel; log: EventLog }): FindAnswered {
  const finding = new Map<string, Promise<Answered>>();

  return async (asked) => {
    const key = Object.values(asked).join(' ');
    const found = finding.get(key) ?? find(by, asked);
    finding.set(key, found);
    try {
      return await found;
    } finally {
      finding.delete(key);
    }
  };
}

async function find(
  { channel, log }: { channel: Channel; log: EventLog },
  { partition, since, first, outcomesEnd }: Asked,
): Promise<Answered> {
  const outcomesFrom = (timeMs: number) => log.offsetAt(deliveriesTopic, partition, timeMs - clockSkewMs);
  if ((await outcomesFrom(first)) >= outcomesEnd) return nothingAnswered;
  const begin = await outcomesFrom(since);
  const end = (await log.ends(deliveriesTopic, [partition]))[partition] ?? 0;
  const range = { topic: deliveriesTopic, partition, from: Math.max(begin, end - outcomesMax), to: end };
  const causes = new Set<EventId>();
  let lastAt = -Infinity;
  let read = 0;
  for await (const { event, appendedAt } of log.read(range)) {
    const cause = event === null ? null : causeOf(event, channel);
    if (cause !== null) causes.add(cause);
    lastAt = appendedAt;
    if (++read % turnMax === 0) await nextTurn();
  }
  return {
    has: ({ head }) => head !== null && causes.delete(head.eventId),
    isAfter: ({ appendedAt }) => causes.size === 0 || appendedAt > lastAt + clockSkewMs,
  };
}

/** The work event that an event answers for good; null: none of this channel. */
function causeOf(event: DomainEvent, channel: Channel): EventId | null {
  switch (event.type) {
    case 'AttemptSucceeded':
    case 'AttemptFailed':
    case 'DeliveryDeferred':
    case 'NotificationCancelled':
      return event.channel === channel ? event.causeId : null;
    default:
      return null;
  }
}
