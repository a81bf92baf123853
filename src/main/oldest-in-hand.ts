// Since when the projectors' thread has something in hand that isn't folded, in memory that it shares with the main thread: told by messages it would be a
// second old, and the lag that follows from it a second too long; and read at any moment, also while that thread hangs.

export interface OldestInHand {
  readonly readModels: readonly string[];
  /** Of each read model UTC ms; 0: nothing is in hand. */
  readonly buffer: SharedArrayBuffer;
}

/** @param readModels all of which it may be told; of others nobody asks */
export function createOldestInHand(readModels: readonly string[]): OldestInHand {
  return { readModels, buffer: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT * readModels.length) };
}

/** The end of the thread that folds. */
export function noteOldestIn({ readModels, buffer }: OldestInHand): (readModel: string, at: number | null) => void {
  const cells = new BigInt64Array(buffer);
  return (readModel, at) => {
    const i = readModels.indexOf(readModel);
    if (i !== -1) Atomics.store(cells, i, BigInt(Math.floor(at ?? 0)));
  };
}

/** The end of whoever asks: UTC ms; null: nothing is in hand. */
export function oldestOf({ readModels, buffer }: OldestInHand): (readModel: string) => number | null {
  const cells = new BigInt64Array(buffer);
  return (readModel) => {
    const i = readModels.indexOf(readModel);
    const at = i === -1 ? 0 : Number(Atomics.load(cells, i));
    return at === 0 ? null : at;
  };
}
