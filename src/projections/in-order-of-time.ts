// A partition number's topics read side by side.

import { retentionTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import { cameAfter } from '../ports/after-others.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';

export type Offsets = ReadonlyMap<Topic, number>;

export interface Range {
  readonly from: Offsets;
  readonly to: Offsets;
}

/** The next entry of a topic, and those behind it. */
interface Head {
  entry: LogEntry;
  readonly rest: AsyncIterator<LogEntry>;
}

/**
 * Topics side by side, as they grew: a notification's events come near each other and are written once. What says that some are forgotten comes behind all that
 * may have been there: by the log's times alone it may come before what it names, where a leader's clock was ahead. What came after it stays behind it: a
 * notification that is reported on once it is forgotten counts once more.
 */
export async function* inOrderOfTime(
  log: Pick<EventLog, 'read'>,
  partition: number,
  { from, to }: Range,
): AsyncGenerator<LogEntry, void> {
  const heads: Head[] = [];
  for (const [topic, end] of to) {
    const rest = log.read({ topic, partition, from: from.get(topic) ?? 0, to: end })[Symbol.asyncIterator]();
    const first = await rest.next();
    if (first.done !== true) heads.push({ entry: first.value, rest });
  }
  for (let head = nextOf(heads); head !== undefined; head = nextOf(heads)) {
    yield head.entry;
    const next = await head.rest.next();
    if (next.done === true) heads.splice(heads.indexOf(head), 1);
    else head.entry = next.value;
  }
}

function nextOf(heads: readonly Head[]): Head | undefined {
  const oldest = oldestOf(heads);
  if (oldest?.entry.topic !== retentionTopic) return oldest;
  const before = heads.filter((head) => head !== oldest && !cameAfter(head.entry, oldest.entry));
  return oldestOf(before) ?? oldest;
}

function oldestOf(heads: readonly Head[]): Head | undefined {
  let oldest = heads[0];
  for (const head of heads) {
    if (oldest !== undefined && head.entry.appendedAt < oldest.entry.appendedAt) oldest = head;
  }
  return oldest;
}
