// How far reading may run ahead of delivering: a window per partition and a share of the process's memory; past it no more is taken until half is done.

import type { Topic } from '../domain/topics.ts';
import type { CommittedPosition } from '../ports/event-log.ts';
import type { OffsetWindow } from './offset-window.ts';

export interface ReadAheadLimits {
  /** Events of one partition from its mark on, so that what is finished beyond the mark fits into a commit. */
  readonly eventsMax: number;
  /** Bytes of one partition that are read and unfinished. */
  readonly bytesMax: number;
  /** Bytes of all partitions of this dispatcher. */
  readonly totalBytesMax: number;
  /** Events taken in one turn of the event loop: at some 10 us each a reader's turn stays under 1 ms. */
  readonly takeMax: number;
}

const mebibyte = 1024 * 1024;

/** 32 MiB a process: 4 channels x 8 MiB, some 13,000 small events each, which take four times that once decoded. */
const readAheadLimits: ReadAheadLimits = {
  eventsMax: 10_000,
  bytesMax: mebibyte,
  totalBytesMax: 8 * mebibyte,
  takeMax: 64,
};

export interface TakeLimits {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** One partition of one claim: what of it was read, what is finished, whether more may be read. */
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

export function createReadAhead(limits: ReadAheadLimits = readAheadLimits): ReadAhead {
  /** Of each paused partition: the call that goes on with it if it may. */
  const paused = new Set<() => void>();
  const totalHalf = limits.totalBytesMax / 2;
  let totalBytes = 0;

  function release(bytes: number): void {
    const wasOverHalf = totalBytes > totalHalf;
    totalBytes -= bytes;
    if (wasOverHalf && totalBytes <= totalHalf) for (const tryToGoOn of paused) tryToGoOn();
  }

  function track(topic: Topic, partition: number, window: OffsetWindow): PartitionTracker {
    let bytes = 0;
    let moves = 0;
    let isClosed = false;
    let goOn: (() => void) | null = null;

    const isFull = () =>
      window.length >= limits.eventsMax || bytes >= limits.bytesMax || totalBytes >= limits.totalBytesMax;
    const isHalf = () =>
      window.length <= limits.eventsMax / 2 && bytes <= limits.bytesMax / 2 && totalBytes <= totalHalf;

    function tryToGoOn(): void {
      if (goOn === null || !(isClosed || isHalf())) return;
      paused.delete(tryToGoOn);
      goOn();
      goOn = null;
    }

    async function room(): Promise<TakeLimits | null> {
      if (!isClosed && isFull()) {
        await new Promise<void>((resolve) => {
          goOn = resolve;
          paused.add(tryToGoOn);
        });
      }
      if (isClosed) return null;
      return {
        eventsMax: Math.min(limits.takeMax, limits.eventsMax - window.length),
        bytesMax: limits.bytesMax - bytes,
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
        if (isNew) {
          bytes += size;
          totalBytes += size;
        }
        return isNew;
      },
      finish(offset, size) {
        if (isClosed) return;
        moves++;
        window.finish(offset);
        bytes -= size;
        release(size);
        if (goOn !== null) tryToGoOn();
      },
      noteAttempt: () => void moves++,
      room,
      uncommitted: () => window.uncommitted(),
      noteCommitted: (position) => window.noteCommitted(position),
      close() {
        if (isClosed) return;
        isClosed = true;
        release(bytes);
        tryToGoOn();
      },
    };
  }

  return { track };
}
