// A partition number's topics read side by side.

import { retentionTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { EventLog, LogEntry } from '../ports/event-log.ts';

export type Offsets = ReadonlyMap<Topic, number>;

export interface Range {
  readonly from: Offsets;
  readonly to: Offsets;
}

/**
 * Topics side by side, as they grew: a notification's events come near each other and are written once. What says that some are forgotten comes behind all
 * else: by times alone it may come before what it names, where a leader's clock was ahead.
 */
export async function* inOrderOfTime(
  log: Pick<EventLog, 'read'>,
  partition: number,
  { from, to }: Range,
): AsyncGenerator<LogEntry, void> {
  const heads: { entry: LogEntry; readonly rest: AsyncIterator<LogEntry> }[] = [];
  for (const [topic, end] of to) {
    const rest = log.read({ topic, partition, from: from.get(topic) ?? 0, to: end })[Symbol.asyncIterator]();
    const first = await rest.next();
    if (first.done !== true) heads.push({ entry: first.value, rest });
  }
  while (heads.length > 0) {
    let least = 0;
    for (let i = 1; i < heads.length; i++) if (timeOf(heads[i]?.entry) < timeOf(heads[least]?.entry)) least = i;
    const head = heads[least];
    if (head === undefined) return;
    yield head.entry;
    const next = await head.rest.next();
    if (next.done === true) heads.splice(least, 1);
    else head.entry = next.value;
  }
}

function timeOf(entry: LogEntry | undefined): number {
  if (entry === undefined) return 0;
  return entry.topic === retentionTopic ? Infinity : entry.appendedAt;
}
