// How far reading may run ahead of delivering, in bytes as they are held: each partition has memory of its own, and beyond it a share of its lane's pool.
//
//   partition  [== own ==|=== of the pool ===]   own memory is never anybody else's: whoever holds nothing reads on, whatever slow tenants keep
//   pool       [==========|====.....free.....]   beyond its own a partition may hold as much as is free: one of them half, two a third each, ...
//
// A pool is a topic's, so HIGH waits for no memory of DEFAULT or BULK.

import type { Topic } from '../domain/topics.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import type { OffsetWindow } from './offset-window.ts';

export interface ReadAheadLimits {
  /** Events of one partition from its mark on, so that what is finished beyond the mark fits into a commit. */
  readonly eventsMax: number;
  /** Bytes that every partition may hold for itself, read and unfinished. */
  readonly ownBytesMax: number;
  /** Bytes that the partitions of one topic, a lane, may hold together beyond their own. */
  readonly poolBytesMax: number;
  /** Taken in one turn of the event loop: at some 10 us an event a reader's turn stays under 1 ms. */
  readonly takeEventsMax: number;
  readonly takeBytesMax: number;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/**
 * Of a channel: 3 lanes x (12 numbers x 128 KiB + 4 MiB) = 16.5 MiB, 66 MiB for the four. A take may pass its limit by 64 small events or one large
 * one, at most 0.6 MiB (200 KiB of body and 64 KiB of data, two bytes a character): 36 x 0.6 MiB more where every number of every lane is flooded with
 * the largest. 128 KiB are some 85 small events, half of the pool some 1,400.
 */
const readAheadLimits: ReadAheadLimits = {
  eventsMax: 10_000,
  ownBytesMax: 128 * kibibyte,
  poolBytesMax: 4 * mebibyte,
  takeEventsMax: 64,
  takeBytesMax: 128 * kibibyte,
};

export interface TakeLimits {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** One partition of one claim: what of it was read, what is finished, whether more may be read. Bytes are those that are held. */
export interface PartitionTracker {
  readonly topic: Topic;
  readonly partition: number;
  /** The claim is lost: what isn't in flight is not begun any more, what is finished is not committed any more. */
  readonly isClosed: boolean;
  /** Goes up with each attempt that is begun and each event that is finished. */
  readonly moves: number;
  /** Notes an event that was read. False when it was finished before the restart. */
  begin(offset: number, bytes: number): boolean;
  finish(offset: number, bytes: number): void;
  /** An attempt of it is being sent. */
  noteAttempt(): void;
  /** Waits until more may be taken; null once it is closed. */
  room(): Promise<TakeLimits | null>;
  uncommitted(): CommittedPosition | null;
  noteCommitted(position: CommittedPosition): void;
  close(): void;
}

export interface ReadAhead {
  track(topic: Topic, partition: number, window: OffsetWindow): PartitionTracker;
}

interface Pool {
  /** What the partitions of a lane hold beyond their own. */
  bytes: number;
  /** Of each paused partition: the call that goes on with it if it may. */
  readonly paused: Set<() => void>;
}

export function createReadAhead(limits: ReadAheadLimits = readAheadLimits): ReadAhead {
  const { eventsMax, ownBytesMax, poolBytesMax } = limits;
  const pools = new Map<Topic, Pool>();
  const beyondOwn = (bytes: number) => Math.max(0, bytes - ownBytesMax);

  function poolOf(topic: Topic): Pool {
    const pool = pools.get(topic) ?? { bytes: 0, paused: new Set() };
    pools.set(topic, pool);
    return pool;
  }

  function setPool(pool: Pool, bytes: number): void {
    const isLess = bytes < pool.bytes;
    pool.bytes = bytes;
    if (isLess) for (const tryToGoOn of pool.paused) tryToGoOn();
  }

  function track(topic: Topic, partition: number, window: OffsetWindow): PartitionTracker {
    const pool = poolOf(topic);
    let bytes = 0;
    let moves = 0;
    let isClosed = false;
    let goOn: (() => void) | null = null;

    const bytesMax = () => ownBytesMax + Math.max(0, poolBytesMax - pool.bytes);
    const isFull = () => window.length >= eventsMax || bytes >= bytesMax();
    const isHalf = () => window.length <= eventsMax / 2 && bytes <= bytesMax() / 2;

    function hold(now: number): void {
      const beyond = beyondOwn(now) - beyondOwn(bytes);
      bytes = now;
      if (beyond !== 0) setPool(pool, pool.bytes + beyond);
    }

    function tryToGoOn(): void {
      if (goOn === null || !(isClosed || isHalf())) return;
      pool.paused.delete(tryToGoOn);
      goOn();
      goOn = null;
    }

    async function room(): Promise<TakeLimits | null> {
      if (!isClosed && isFull()) {
        await new Promise<void>((resolve) => {
          goOn = resolve;
          pool.paused.add(tryToGoOn);
        });
      }
      if (isClosed) return null;
      return {
        eventsMax: Math.min(limits.takeEventsMax, eventsMax - window.length),
        bytesMax: Math.min(limits.takeBytesMax, bytesMax() - bytes),
      };
    }

    return {
      topic,
      partition,
      get isClosed() {
        return isClosed;
      },
      get moves() {
        return moves;
      },
      begin(offset, size) {
        const isNew = window.begin(offset);
        if (isNew) hold(bytes + size);
        return isNew;
      },
      finish(offset, size) {
        if (isClosed) return;
        moves++;
        window.finish(offset);
        hold(bytes - size);
        tryToGoOn();
      },
      noteAttempt: () => void moves++,
      room,
      uncommitted: () => window.uncommitted(),
      noteCommitted: (position) => window.noteCommitted(position),
      close() {
        if (isClosed) return;
        isClosed = true;
        hold(0);
        tryToGoOn();
      },
    };
  }

  return { track };
}
