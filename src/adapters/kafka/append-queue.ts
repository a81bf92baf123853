// What waits to be appended, a queue per (topic, partition): what is being sent stays at the head until it is answered, so that a resend comes before
// whatever was appended later.

import type { Topic } from '../../domain/topics.ts';
import type { AppendResult } from '../../ports/event-log.ts';
import type { RecordValue, TopicRecords } from './produce-request.ts';

export interface Append extends RecordValue {
  /** When it was asked for, by the monotonic clock. */
  readonly since: number;
  /** A send of it may have reached the log. */
  mayBeWritten: boolean;
  resolve(result: AppendResult): void;
}

/** One partition of one topic. */
export interface Slot {
  readonly topic: Topic;
  /** The topic's name on the brokers. */
  readonly name: string;
  readonly partition: number;
  /** The first `sending` of it are in a produce that isn't answered yet. */
  queue: Append[];
  sending: number;
  /** 1 once the broker found a batch of several too large. */
  batchMax: number;
  /** Sends in a row that failed. */
  failures: number;
  /** Why the last one did. */
  reason: string;
  /** Waits with its leader for the next flush. */
  isReady: boolean;
}

export interface Flush {
  readonly slots: readonly Slot[];
  readonly records: readonly TopicRecords[];
}

/** One produce: 500 events of 500 bytes are about what a broker takes in one go at its best (94,000 a second in these batches). */
const flushEvents = 500;
const flushBytes = 256 * 1024;

export function createSlot(topic: Topic, name: string, partition: number): Slot {
  const still = { queue: [], sending: 0, batchMax: flushEvents, failures: 0, reason: '', isReady: false };
  return { topic, name, partition, ...still };
}

/** Takes from the slots in turn, as much as one produce holds; a single larger event goes alone. Those taken from are no longer ready. */
export function takeFlush(ready: Slot[]): Flush {
  const slots: Slot[] = [];
  const byName = new Map<string, { name: string; partitions: TopicRecords['partitions'][number][] }>();
  let events = 0;
  let bytes = 0;
  while (events < flushEvents && bytes < flushBytes) {
    const slot = ready[slots.length];
    if (slot === undefined) break;
    const { count, size } = fitting(slot, flushEvents - events, flushBytes - bytes, events === 0);
    if (count === 0) break;
    events += count;
    bytes += size;
    slot.sending = count;
    slot.isReady = false;
    slots.push(slot);
    const { name, partition, queue } = slot;
    const topic = byName.get(name) ?? { name, partitions: [] };
    byName.set(name, topic);
    topic.partitions.push({ partition, values: queue, count });
  }
  ready.splice(0, slots.length);
  return { slots, records: [...byName.values()] };
}

function fitting({ queue, batchMax }: Slot, eventsMax: number, bytesMax: number, isFirst: boolean) {
  const most = Math.min(queue.length, eventsMax, batchMax);
  let count = 0;
  let size = 0;
  for (; count < most; count++) {
    const length = queue[count]?.bytes.length ?? 0;
    const isAlone = isFirst && count === 0;
    if (!isAlone && size + length > bytesMax) break;
    size += length;
  }
  return { count, size };
}

/** The sent ones are in the log from `baseOffset` on. Returns their bytes. */
export function settleDurable(slot: Slot, baseOffset: number): number {
  const { topic, partition } = slot;
  const sent = takeSent(slot, slot.sending);
  slot.failures = 0;
  slot.batchMax = flushEvents;
  let bytes = 0;
  for (const [n, append] of sent.entries()) {
    bytes += append.bytes.length;
    append.resolve({ kind: 'durable', position: { topic, partition, offset: baseOffset + n } });
  }
  return bytes;
}

/** The sent ones go back to the head of the queue. */
export function settleFailed(slot: Slot, reason: string, mayBeWritten: boolean): void {
  if (mayBeWritten) {
    for (let n = 0; n < slot.sending; n++) {
      const append = slot.queue[n];
      if (append !== undefined) append.mayBeWritten = true;
    }
  }
  slot.sending = 0;
  slot.failures++;
  slot.reason = reason;
}

/** The log will not take the sent ones, however often they are sent. Returns their bytes. */
export function settleRefused(slot: Slot, reason: string): number {
  return giveUp(takeSent(slot, slot.sending), reason);
}

/** Answers what has waited since before `since`; nothing of the slot may be in flight. Returns how many they were and their bytes. */
export function expire(slot: Slot, since: number): { count: number; bytes: number } {
  let count = 0;
  while (count < slot.queue.length && (slot.queue[count]?.since ?? Infinity) <= since) count++;
  return { count, bytes: giveUp(takeSent(slot, count), slot.reason) };
}

function giveUp(appends: readonly Append[], reason: string): number {
  let bytes = 0;
  for (const append of appends) {
    bytes += append.bytes.length;
    append.resolve({ kind: append.mayBeWritten ? 'unknown' : 'refused', reason });
  }
  return bytes;
}

function takeSent(slot: Slot, count: number): readonly Append[] {
  const { queue } = slot;
  const sent = count === queue.length ? queue : queue.slice(0, count);
  slot.queue = count === queue.length ? [] : queue.slice(count);
  slot.sending = 0;
  return sent;
}
