// The offset that the next event of each partition gets, in memory that threads share.

export interface Ends {
  get(slot: number): number;
  set(slot: number, end: number): void;
}

export function endsBuffer(slots: number): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * BigInt64Array.BYTES_PER_ELEMENT);
}

/** Only the thread that writes the log sets them, after the events are durable. */
export function createEnds(buffer: SharedArrayBuffer): Ends {
  const ends = new BigInt64Array(buffer);
  return {
    get: (slot) => Number(Atomics.load(ends, slot)),
    set(slot, end) {
      Atomics.store(ends, slot, BigInt(end));
    },
  };
}
