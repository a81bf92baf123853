// Appends: two lines per partition leader, each flushes when its last produce is answered and checked; what is not in the log is sent again.
//
//   append -> queue of its partition -> a flush of the leader's (all that waits, at most 500 events or 256 KiB) -> produce, acks all
//                 ▲                                                                                          │
//                 └─ recovery: ask who leads now, back off <── missing in the answer, failed, or not sent <──┴──> durable
//
// Partitions where much waits, as what a batch brings, have a line of their own: a HIGH waited for the produce of a flood's 500 events that was under way, and for
// another one that it then was part of, or came behind.
//
// kafkajs' own producer can say "sent" of what is not in the log when a broker dies; here every (topic, partition) of a produce is looked up in its answer.

import { assertNever } from '../../domain/assert-never.ts';
import type { Topic } from '../../domain/topics.ts';
import type { AppendResult } from '../../ports/event-log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import {
  createSlot,
  expire,
  type Flush,
  lackOf,
  renewEpoch,
  settleDurable,
  settleFailed,
  settleRefused,
  settleTooLarge,
  type Slot,
  takeFlush,
} from './append-queue.ts';
import type { Produced, ProduceLine, Producing } from './producing.ts';
import { meaningOf } from './produce-errors.ts';

export interface AppendLimits {
  /** What may wait: 50,000 events are 8 s of 6,000 a second, as long as appends wait when a leader was killed (4 to 8.5 s, measured). */
  readonly queueEvents: number;
  readonly queueBytes: number;
  /**
   * After so long, in ms, whoever still waits gets `unknown`, or `refused` if nothing of it was ever sent; what is under way then is answered first. An election
   * takes no longer: where nobody has led for that time, a second is enough.
   */
  readonly deadlineMs: number;
}

export const defaultAppendLimits: AppendLimits = {
  queueEvents: 50_000,
  queueBytes: 32 * 1024 * 1024,
  deadlineMs: 15_000,
};

export interface AppenderDependencies {
  readonly producing: Producing;
  readonly topics: readonly Topic[];
  readonly partitions: number;
  nameOf(topic: Topic): string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: AppendLimits;
  /** Called before the callers are answered: what is below `end` is durable. */
  onDurable(topic: Topic, partition: number, end: number): void;
  /** Called after each produce with the ms that the first of it waited. */
  onFlush(tookMs: number): void;
}

export interface Appender {
  /** `header` and `bytes` are the record's value. @throws Error for a topic or partition that the log hasn't */
  append(topic: Topic, partition: number, header: Buffer, bytes: Uint8Array): Promise<AppendResult>;
  queued(): number;
  /** Whether something could not be sent when it was last tried, but for what is known to be led by nobody: nobody else can send that. */
  isFailing(): boolean;
  /** Answers what is queued, within the deadline, then refuses everything. */
  close(): Promise<void>;
}

interface Leader {
  readonly id: number;
  ready: Slot[];
  /** The lines with a flush under way. */
  readonly busy: Set<ProduceLine>;
  /** A look at what is ready is about to come. */
  isDue: boolean;
}

const fewEvents = 32;
const lineOf = ({ queue }: Slot): ProduceLine => (queue.length <= fewEvents ? 'few' : 'many');

/** Between two tries for a partition that can't be appended to: 0, 50, 100, 200, 400, 500 ms and so on. */
const backOffMs = 25;
const backOffMaxMs = 500;

export function createAppender(deps: AppenderDependencies): Appender {
  const { producing, topics, partitions, nameOf, clock, logger, limits, onDurable, onFlush } = deps;
  const slots = new Map<Topic, readonly Slot[]>(
    topics.map((topic) => [
      topic,
      Array.from({ length: partitions }, (_, partition) => createSlot(topic, nameOf(topic), partition)),
    ]),
  );
  const leaders = new Map<number, Leader>();
  /** Slots that wait for word of who leads them now. */
  const stranded = new Set<Slot>();
  /** Slots whose last send failed, or that have no leader. */
  const failing = new Set<Slot>();
  const idle: (() => void)[] = [];
  let queued = 0;
  let queuedBytes = 0;
  let isRecovering = false;
  let isClosed = false;

  const left = (count: number, bytes: number) => {
    queued -= count;
    queuedBytes -= bytes;
    if (queued === 0) for (const resolve of idle.splice(0)) resolve();
  };

  /** Puts a slot with something to send to its leader. */
  const offer = (slot: Slot) => {
    if (slot.isReady || slot.sending > 0 || slot.queue.length === 0 || stranded.has(slot)) return;
    const id = noteLeader(slot);
    if (id < 0) return strand(slot);
    const leader = leaders.get(id) ?? { id, ready: [], busy: new Set(), isDue: false };
    leaders.set(id, leader);
    slot.isReady = true;
    leader.ready.push(slot);
    look(leader);
  };

  /** A slot that is ready is taken: by its line's run, or by this look, which also follows when it changes its line. */
  const look = (leader: Leader) => {
    if (leader.isDue || leader.busy.size === 2) return;
    leader.isDue = true;
    // Whatever else is appended in this turn of the event loop comes along.
    setImmediate(() => {
      leader.isDue = false;
      void run(leader, 'few');
      void run(leader, 'many');
    });
  };

  const run = async (leader: Leader, line: ProduceLine) => {
    if (leader.busy.has(line)) return;
    leader.busy.add(line);
    for (;;) {
      giveUpReady(leader);
      const ofLine = leader.ready.filter((slot) => lineOf(slot) === line);
      if (ofLine.length === 0) break;
      const flush = takeFlush(ofLine, producing.producerId());
      leader.ready = leader.ready.filter(({ isReady }) => isReady);
      const since = flush.slots.reduce((least, { queue }) => Math.min(least, queue[0]?.since ?? least), Infinity);
      settle(flush, await producing.produce(leader.id, flush.records, clock.now(), line));
      onFlush(clock.monotonic() - since);
    }
    leader.busy.delete(line);
  };

  /** Of what comes faster than the brokers take it, though they take each produce. */
  const giveUpReady = (leader: Leader) => {
    for (const slot of leader.ready) {
      if (!giveUpOverdue(slot)) continue;
      slot.isReady = slot.queue.length > 0;
      // What is left of it may be of the other line.
      look(leader);
    }
    leader.ready = leader.ready.filter(({ isReady }) => isReady);
  };

  const settle = ({ slots }: Flush, produced: Produced) => {
    for (const slot of slots) {
      settleSlot(slot, produced);
      offer(slot);
    }
  };

  const settleSlot = (slot: Slot, produced: Produced) => {
    const count = slot.sending;
    if (produced.kind === 'failed') return fail(slot, produced.reason, produced.wasSent);
    const told = produced.answer.partition(slot.name, slot.partition);
    if (told === undefined) return fail(slot, 'the broker did not say what became of it', true);
    const meaning = meaningOf(told.errorCode);
    switch (meaning.kind) {
      case 'written':
        works(slot);
        onDurable(slot.topic, slot.partition, told.baseOffset + count);
        return left(count, settleDurable(slot, told.baseOffset));
      case 'again':
        return fail(slot, meaning.reason, meaning.mayBeWritten);
      case 'outOfStep':
        fail(slot, meaning.reason, true);
        return renewEpoch(slot);
      case 'tooLarge':
        if (count === 1) return left(1, settleRefused(slot, meaning.reason));
        return settleTooLarge(slot);
      case 'refused':
        return left(count, settleRefused(slot, meaning.reason));
      default:
        return assertNever(meaning);
    }
  };

  const fail = (slot: Slot, reason: string, mayBeWritten: boolean) => {
    settleFailed(slot, reason, mayBeWritten);
    strand(slot);
  };

  const strand = (slot: Slot) => {
    if (failing.size === 0) {
      logger.warn('the event log does not take all appends: trying again', {
        topic: slot.topic,
        partition: slot.partition,
        reason: slot.reason || lackOf(slot),
      });
    }
    failing.add(slot);
    stranded.add(slot);
    if (!isRecovering) void recover();
  };

  const works = (slot: Slot) => {
    if (failing.delete(slot) && failing.size === 0) logger.info('the event log takes all appends again');
  };

  const recover = async () => {
    isRecovering = true;
    while (stranded.size > 0) {
      const failures = Math.min(...[...stranded].map((slot) => slot.failures));
      if (failures > 1) await clock.sleep(Math.min(backOffMs * 2 ** (failures - 1), backOffMaxMs));
      const reason = await refreshed();
      for (const slot of stranded) {
        const isLed = reason === null && noteLeader(slot) >= 0;
        if (reason !== null) slot.reason ||= reason;
        else if (!isLed) slot.reason = lackOf(slot);
        giveUpOverdue(slot);
        if (!stranded.has(slot)) continue;
        if (isLed) resume(slot);
        else slot.failures++;
      }
    }
    isRecovering = false;
  };

  const noteLeader = (slot: Slot): number => {
    const isLeaderless = producing.isLeaderless(slot.name, slot.partition);
    slot.leaderlessSince = isLeaderless ? (slot.leaderlessSince ?? clock.monotonic()) : null;
    return producing.leaderOf(slot.name, slot.partition);
  };

  const refreshed = async (): Promise<string | null> => {
    try {
      await producing.refresh();
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };

  const giveUpOverdue = (slot: Slot): boolean => {
    const { count, bytes } = expire(slot, clock.monotonic(), limits.deadlineMs);
    left(count, bytes);
    if (slot.queue.length === 0) {
      stranded.delete(slot);
      failing.delete(slot);
      slot.failures = 0;
    }
    return count > 0;
  };

  const resume = (slot: Slot) => {
    stranded.delete(slot);
    offer(slot);
  };

  const slotOf = (topic: Topic, partition: number): Slot => {
    const ofTopic = slots.get(topic);
    if (ofTopic === undefined) throw new Error(`the log has no topic ${topic}`);
    const slot = ofTopic[partition];
    if (slot === undefined)
      throw new Error(`partition ${partition} of ${topic}: partitions are 0 to ${partitions - 1}`);
    return slot;
  };

  return {
    append(topic, partition, header, bytes) {
      const slot = slotOf(topic, partition);
      if (isClosed) return refused('the event log is closed');
      const { length } = bytes;
      if (queued >= limits.queueEvents || queuedBytes + length > limits.queueBytes)
        return refused('too much waits to be appended');
      queued++;
      queuedBytes += length;
      return new Promise((resolve) => {
        slot.queue.push({ header, bytes, since: clock.monotonic(), mayBeWritten: false, resolve });
        offer(slot);
        if (slot.isReady && slot.queue.length === fewEvents + 1) for (const leader of leaders.values()) look(leader);
      });
    },
    queued: () => queued,
    isFailing: () => [...failing].some(({ leaderlessSince }) => leaderlessSince === null),
    async close() {
      isClosed = true;
      if (queued > 0) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

function refused(reason: string): Promise<AppendResult> {
  return Promise.resolve({ kind: 'refused', reason });
}
