// Pieces of a batch that the items' thread has in hand: so many at once, of so many bytes, and what is made of them is taken in their order.

export interface AheadLimits {
  readonly piecesAheadMax: number;
  readonly aheadBytesMax: number;
}

export function createItemsAhead<Made>({ piecesAheadMax, aheadBytesMax }: AheadLimits) {
  /** Each resolves when it, and so each before it, is taken. */
  const pieces: Promise<void>[] = [];
  let last: Promise<void> = Promise.resolve();
  let bytesAhead = 0;
  const isFull = () => pieces.length >= piecesAheadMax || bytesAhead >= aheadBytesMax;
  return {
    /**
     * Resolves when there is room for the next one.
     * @param making never rejects
     * @param take neither
     */
    async add(bytes: number, making: Promise<Made>, take: (made: Made) => Promise<void>): Promise<void> {
      const before = last;
      bytesAhead += bytes;
      last = making.then(async (made) => {
        await before;
        await take(made);
        bytesAhead -= bytes;
      });
      pieces.push(last);
      while (isFull()) await pieces.shift();
    },

    /** Resolves when all of them are taken. */
    taken: (): Promise<void> => last,
  };
}
