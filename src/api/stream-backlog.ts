// What waits for the readers of all streams together: past its bound the reader that is furthest behind is dropped, not the one that is told next.

/** One stream's part of it. */
export interface Lagging {
  /** Bytes that wait for its reader. */
  readonly waitingBytes: number;
  drop(): void;
}

export interface StreamBacklog {
  /** Before so many bytes are written to whichever stream. */
  makeRoom(bytes: number): void;
  /** A stream has so many more bytes waiting, or fewer. */
  add(bytes: number): void;
}

export function createStreamBacklog(bytesMax: number, streams: () => Iterable<Lagging>): StreamBacklog {
  let total = 0;

  return {
    makeRoom(bytes) {
      if (total + bytes <= bytesMax) return;
      const lagging = [...streams()].filter(({ waitingBytes }) => waitingBytes > 0);
      for (const stream of lagging.toSorted((a, b) => b.waitingBytes - a.waitingBytes)) {
        stream.drop();
        if (total + bytes <= bytesMax) return;
      }
    },
    add(bytes) {
      total += bytes;
    },
  };
}
