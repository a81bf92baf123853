// Copies a log into an empty one so that nothing tells them apart: every entry at its offset with its bytes, schema and time, and what each group has finished.
// Where retention has taken events nothing stands in the copy either, and what was before the first of a partition is before its beginning.
// Interrupted at any place it goes on where the target ends, once the last entry there has proved to be the source's.

import type { Topic } from '../domain/topics.ts';
import type { CopiedEntry, EventLogCopySource, EventLogCopyTarget, RawEntry } from '../ports/event-log-copy.ts';
import { CopyRefusedError } from '../ports/event-log-copy.ts';

export interface CopyLogDependencies {
  readonly source: EventLogCopySource;
  readonly target: EventLogCopyTarget;
  /** Copies what belongs to the log beside it, once the target has proved to be this log's and before the first event. */
  readonly copySettings: () => Promise<void>;
  /** Events that stand in the target, of all. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface CopiedTopic {
  readonly topic: Topic;
  /** Events that the source and the target were ever given: the sum of the ends of their partitions. */
  readonly source: number;
  readonly target: number;
}

export interface CopyResult {
  readonly topics: readonly CopiedTopic[];
  /** Events that were there before, from a copy that was interrupted. */
  readonly foundEvents: number;
  /** Events that retention has taken before. */
  readonly goneEvents: number;
  readonly positions: number;
}

interface PartitionCopy {
  readonly topic: Topic;
  readonly partition: number;
  readonly end: number;
  /** The offset to go on at. */
  readonly from: number;
}

/** Partitions at a time: enough that reading one goes on while another is being written. */
const partitionsAtOnce = 6;
/** An append: 6 x 512 KiB in flight and as much being read are 6 MiB. A topic takes 2 MiB at least. */
const appendEvents = 2_000;
const appendBytes = 512 * 1024;
/** Of those that are gone in an append: 12 bytes each, 120 KiB. */
const goneAtOnce = 10_000;

/**
 * Settings, then events, then ends compared, then positions; the target can be opened only after that. null: the copy was complete before.
 * @throws CopyRefusedError when the target holds what the source doesn't
 */
export async function copyLog(deps: CopyLogDependencies): Promise<CopyResult | null> {
  const { source, target, onProgress } = deps;
  const copies = await planOf(source, target);
  if (copies === 'complete') return null;
  await deps.copySettings();
  const total = sum(copies.map(({ end }) => end));
  const foundEvents = sum(copies.map(({ from }) => from));
  let done = foundEvents;
  onProgress(done, total);
  await eachAtOnce(copies, partitionsAtOnce, (copy) =>
    copyPartition(deps, copy, (events) => {
      done += events;
      onProgress(done, total);
    }),
  );
  const topics = await compareEnds(source, target);
  for (const topic of source.topics) await target.beginAt(topic, await source.starts(topic));
  const positions = await source.positions();
  await target.writePositions(positions);
  await target.complete();
  return { topics, foundEvents, goneEvents: await source.gone(), positions: positions.length };
}

/** Where each partition goes on. */
async function planOf(
  source: EventLogCopySource,
  target: EventLogCopyTarget,
): Promise<readonly PartitionCopy[] | 'complete'> {
  // Before anything is made of the target: a source that can't be copied leaves nothing behind.
  const ends = await endsOf(source);
  const state = await target.begin(source);
  const copies: PartitionCopy[] = [];
  for (const topic of source.topics) {
    const there = await target.ends(topic);
    for (const [partition, end] of (ends.get(topic) ?? []).entries()) {
      const from = there[partition] ?? 0;
      const copy = { topic, partition, end, from };
      await checkPrefix({ source, target }, copy, state);
      copies.push(copy);
    }
  }
  return state === 'complete' ? 'complete' : copies;
}

/** The last entry that both have must be the same one. A log that was opened since may have gone on. */
async function checkPrefix(
  { source, target }: { source: EventLogCopySource; target: EventLogCopyTarget },
  { topic, partition, end, from }: PartitionCopy,
  state: 'begun' | 'complete',
): Promise<void> {
  const place = `${topic}, partition ${partition}`;
  if (state === 'begun' ? from > end : from < end)
    throw new CopyRefusedError(
      `The target is no copy of this log: ${place} ends at ${from} there and at ${end} here. Give the copy a log of its own, by another KAFKA_PREFIX.`,
    );
  const both = Math.min(from, end);
  if (both === 0) return;
  const offset = both - 1;
  const [found] = await source.read({ topic, partition, offset, eventsMax: 1, bytesMax: 1 });
  const last = found?.offset === offset ? found : { offset, appendedAt: 0, bytes: null };
  if (!(await target.holds(topic, partition, last)))
    throw new CopyRefusedError(
      `The target is no copy of this log: ${place} holds another event at offset ${offset}. Give the copy a log of its own, by another KAFKA_PREFIX.`,
    );
}

async function copyPartition(
  { source, target }: CopyLogDependencies,
  { topic, partition, end, from }: PartitionCopy,
  passed: (events: number) => void,
): Promise<void> {
  const read = (offset: number): Promise<readonly RawEntry[]> =>
    source.read({ topic, partition, offset, eventsMax: appendEvents, bytesMax: appendBytes });
  let before: number | null = null;
  for (let next = from; next < end;) {
    const entries = await read(next);
    const to = (entries.at(-1)?.offset ?? end - 1) + 1;
    for (const some of withGone(entries, { from: next, to, before: before ?? entries[0]?.appendedAt ?? 1 })) {
      await target.append(topic, partition, some);
      passed(some.length);
    }
    before = entries.at(-1)?.appendedAt ?? before;
    next = to;
  }
}

interface GoneBetween {
  readonly from: number;
  readonly to: number;
  /** UTC ms of the event before; of the first one where it is the first. */
  readonly before: number;
}

/** Every offset of [from, to): the entries, and in between what is gone. */
function* withGone(entries: readonly RawEntry[], { from, to, before }: GoneBetween): Generator<readonly CopiedEntry[]> {
  let some: CopiedEntry[] = [];
  let at = 0;
  let appendedAt = before;
  for (let offset = from; offset < to; offset++) {
    const entry = entries[at];
    if (entry?.offset === offset) {
      some.push(entry);
      ({ appendedAt } = entry);
      at++;
    } else some.push({ offset, appendedAt, bytes: null });
    if (some.length < goneAtOnce) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

/** @throws CopyRefusedError when a partition ends elsewhere: someone else has written into the target */
async function compareEnds(source: EventLogCopySource, target: EventLogCopyTarget): Promise<readonly CopiedTopic[]> {
  const topics: CopiedTopic[] = [];
  for (const [topic, ends] of await endsOf(source)) {
    const there = await target.ends(topic);
    for (const [partition, end] of ends.entries()) {
      if (there[partition] === end) continue;
      throw new CopyRefusedError(
        `Someone else has written into the target: ${topic}, partition ${partition} ends at ${there[partition]} there and at ${end} here.`,
      );
    }
    topics.push({ topic, source: sum(ends), target: sum(there) });
  }
  return topics;
}

async function endsOf(source: EventLogCopySource): Promise<ReadonlyMap<Topic, readonly number[]>> {
  const ends = new Map<Topic, readonly number[]>();
  for (const topic of source.topics) ends.set(topic, await source.ends(topic));
  return ends;
}

/** The first failure ends it all, once what has begun has ended. */
async function eachAtOnce<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined && !hasFailed; item = items[next++]) {
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  const failed = ended.find((lane) => lane.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
