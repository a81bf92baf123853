// How many bytes of waiting requests a process takes in hand at a time, over all partition numbers: from the store, as decisions, until the log has them.

export interface RequestBudget {
  /** What a number may take now, until it gives it back. */
  take(): RequestShare;
}

export interface RequestShare {
  readonly bytes: number;
  giveBack(): void;
}

/**
 * Each number has this for itself, so that one whose part of the log is away holds up no other; further bytes are shared, and whoever takes leaves half of what is
 * left. 12 x 170 KiB + 2 MiB = 4 MiB, read as text, decoded, written with the decision and encoded for the log: some 16 MiB of memory.
 * (A page has one timer at least: with bodies of 200 KiB alone 12 numbers hold 2.4 MiB.)
 */
const ownBytes = 170 * 1024;
const sharedBytes = 2 * 1024 * 1024;

export function createRequestBudget(): RequestBudget {
  let leftBytes = sharedBytes;
  return {
    take() {
      let held = Math.floor(leftBytes / 2);
      leftBytes -= held;
      return {
        bytes: ownBytes + held,
        giveBack() {
          leftBytes += held;
          held = 0;
        },
      };
    },
  };
}
