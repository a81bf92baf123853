// What waits to be appended, a queue per (topic, partition): what is being sent stays at the head until it is answered, so that a resend comes before
// whatever was appended later.
//
// A batch whose answer didn't come is sent again as that very batch, with its sequence: a broker that has it, or whoever leads after it, answers as it would
// have then. When it is given up, or the broker doesn't know the sequence (its last batches are gone), nobody knows what comes next: the slot goes on under
// its next epoch, from sequence 0, and the broker refuses what may still come of the one before.

import type { Topic } from '../../domain/topics.ts';
import type { AppendResult } from '../../ports/event-log.ts';
import { type BatchProducer, noProducer, type RecordValue, type TopicRecords } from './produce-request.ts';

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
  /** So many at the head were sent as one batch that may be in the log: they go as that batch until they are answered or given up. */
  unanswered: number;
  /** Raised when the broker's idea of the sequence isn't known any more. */
  epoch: number;
  /** Of the next batch's first event. */
  sequence: number;
  /** Sends in a row that failed. */
  failures: number;
  /** Why the last one did. */
  reason: string;
  /** Since when, by the monotonic clock, brokers have told that nobody leads it; null: somebody does, or they tell nothing of it. */
  leaderlessSince: number | null;
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

/** Sequence numbers are 31 bits and begin anew behind the last; epochs are 15. */
const sequences = 2 ** 31;
const epochMax = 2 ** 15 - 1;

export function createSlot(topic: Topic, name: string, partition: number): Slot {
  const still = { queue: [], sending: 0, batchMax: flushEvents, failures: 0, reason: '', isReady: false };
  return { topic, name, partition, leaderlessSince: null, ...still, unanswered: 0, epoch: 0, sequence: 0 };
}

/** Takes from the slots in turn, as much as one produce holds; a single larger event goes alone. Those taken from are no longer ready. */
export function takeFlush(ready: Slot[], producerId: bigint): Flush {
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
    topic.partitions.push({ partition, producer: producerOf(slot, producerId), values: queue, count });
  }
  ready.splice(0, slots.length);
  return { slots, records: [...byName.values()] };
}

function producerOf({ epoch, sequence }: Slot, id: bigint): BatchProducer {
  return epoch > epochMax ? noProducer : { id, epoch, sequence };
}

function fitting(slot: Slot, eventsMax: number, bytesMax: number, isFirst: boolean) {
  const { queue, batchMax, unanswered } = slot;
  if (unanswered > 0) return wholeBatch(slot, eventsMax, bytesMax, isFirst);
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

/** What was sent as one batch fits as one or waits for the next flush. */
function wholeBatch({ queue, unanswered }: Slot, eventsMax: number, bytesMax: number, isFirst: boolean) {
  let size = 0;
  for (let n = 0; n < unanswered; n++) size += queue[n]?.bytes.length ?? 0;
  const fits = isFirst || (unanswered <= eventsMax && size <= bytesMax);
  return fits ? { count: unanswered, size } : { count: 0, size: 0 };
}

/** The sent ones are in the log from `baseOffset` on. Returns their bytes. */
export function settleDurable(slot: Slot, baseOffset: number): number {
  const { topic, partition } = slot;
  slot.sequence = (slot.sequence + slot.sending) % sequences;
  slot.unanswered = 0;
  const sent = takeSent(slot, slot.sending);
  slot.failures = 0;
  slot.reason = '';
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
    slot.unanswered = slot.sending;
  }
  slot.sending = 0;
  slot.failures++;
  slot.reason = reason;
}

/** Nobody knows any more what the broker has of the slot: it goes on as if from the start. Once the epochs are used up, after days without an answer, as nobody. */
export function renewEpoch(slot: Slot): void {
  slot.unanswered = 0;
  slot.sequence = 0;
  slot.epoch = Math.min(slot.epoch + 1, epochMax + 1);
}

/** The sent ones are too large as one batch: from now on they are sent one by one, until one is in the log. */
export function settleTooLarge(slot: Slot): void {
  slot.sending = 0;
  slot.batchMax = 1;
  if (slot.unanswered > 0) renewEpoch(slot);
}

/** The log will not take the sent ones, however often they are sent. Returns their bytes. */
export function settleRefused(slot: Slot, reason: string): number {
  if (slot.unanswered > 0) renewEpoch(slot);
  return giveUp(takeSent(slot, slot.sending), { reason });
}

/** Where nobody leads for longer than an election takes: whoever waits there may hold a turn that others could have. */
const leaderlessMaxMs = 1_000;

/**
 * Answers what has waited for `deadlineMs`, or for less where nobody has led for so long; nothing of the slot may be in flight. An unanswered batch is given up
 * as a whole: a part of it can't be sent again as what it was. Returns how many they were and their bytes.
 */
export function expire(slot: Slot, now: number, deadlineMs: number): { count: number; bytes: number } {
  const { leaderlessSince } = slot;
  const isLong = leaderlessSince !== null && now - leaderlessSince > deadlineMs;
  const since = now - (isLong ? Math.min(leaderlessMaxMs, deadlineMs) : deadlineMs);
  let count = 0;
  while (count < slot.queue.length && (slot.queue[count]?.since ?? Infinity) <= since) count++;
  if (count === 0) return { count, bytes: 0 };
  if (slot.unanswered > 0) {
    count = Math.max(count, slot.unanswered);
    renewEpoch(slot);
  }
  const reason = slot.reason || 'more waits than the brokers take in time';
  const everywhere = leaderlessSince === null ? {} : ({ isEverywhere: true } as const);
  return { count, bytes: giveUp(takeSent(slot, count), { reason, ...everywhere }) };
}

function giveUp(appends: readonly Append[], why: { readonly reason: string; readonly isEverywhere?: true }): number {
  let bytes = 0;
  for (const append of appends) {
    bytes += append.bytes.length;
    append.resolve({ kind: append.mayBeWritten ? 'unknown' : 'refused', ...why });
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

/** Why a slot can't be sent though brokers have told who leads what. */
export function lackOf({ name, partition, leaderlessSince }: Slot): string {
  if (leaderlessSince !== null) return `no broker leads ${name}, partition ${partition}, now`;
  return `no broker tells who leads ${name}, partition ${partition}`;
}
