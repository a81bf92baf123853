// Turns on a thread that all tenants share, for work that would hold it: a piece of a few ms, then everybody else, then the next who waits.

export interface ThreadTurns {
  /** Whether this turn of the event loop has had its share of such work: asked between pieces of a ms or less. */
  isOver(): boolean;
  /** A later turn of the event loop, in which nobody else of those who wait goes on; in the order in which they came. */
  next(): Promise<void>;
}

/** Of a thread that nobody else waits for: work goes on to its end. */
export const wholeTurns: ThreadTurns = {
  isOver: () => false,
  async next() {
    // There is but one.
  },
};
