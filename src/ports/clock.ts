// Time and randomness, the only way to either: tests decide both.

export interface Clock {
  /** Wall clock, UTC ms: for what is written down and what is due. */
  now(): number;
  /** Monotonic ms: for durations. */
  monotonic(): number;
  /** In [0, 1). */
  random(): number;
  /** Cryptographically strong. */
  randomBytes(length: number): Uint8Array;
  /** The 128 bits of a UUIDv7 of now, until the next call: whoever keeps them spells them at once. */
  uuidV7(): Uint8Array;
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
