// One write of this process after another: those of one process never conflict, so only as many contend as there are processes.

import { MongoError, MongoServerError } from 'mongodb';

export type TakeTurn = <T>(write: () => Promise<T>) => Promise<T>;

/** At some 6 ms each the last of them waits for 3 s. */
const waitingMax = 500;

interface Waiting {
  begin(): void;
  fail(error: unknown): void;
}

/** A turn rejects at once when too many wait, and with those that wait when the server is found to be away. */
export function createTurns(): TakeTurn {
  let waiting: Waiting[] = [];
  let isBusy = false;

  function myTurn(): Promise<void> {
    if (waiting.length >= waitingMax) throw new Error(`${waitingMax} changes of settings wait already`);
    return new Promise((begin, fail) => {
      waiting.push({ begin, fail });
    });
  }

  function failAll(error: unknown): void {
    const all = waiting;
    waiting = [];
    for (const { fail } of all) fail(error);
  }

  return async (write) => {
    if (isBusy) await myTurn();
    isBusy = true;
    try {
      return await write();
    } catch (error) {
      if (isAway(error)) failAll(error);
      throw error;
    } finally {
      const next = waiting.shift();
      if (next === undefined) isBusy = false;
      else next.begin();
    }
  };
}

/** The driver's own errors are about reaching the server. */
function isAway(error: unknown): boolean {
  return error instanceof MongoError && !(error instanceof MongoServerError);
}
