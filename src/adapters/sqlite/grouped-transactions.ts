// Transactions that come in one turn of the event loop share one COMMIT: the pages that several partition numbers touch are written once.
//
//   run, run, run -> setImmediate: BEGIN, work each, COMMIT ─────────────────────────────> answers
//                                    └─ one fails: ROLLBACK, BEGIN, (SAVEPOINT, work, RELEASE) each, COMMIT ─┘
//
// A savepoint copies each page before it is changed, a tenth of what a group costs, so there are none until something fails.

import type { Connection } from './connection.ts';

export interface GroupedTransactions {
  /**
   * All or nothing, and committed when it resolves. Rejects with what `work` throws; the others of its group are not harmed.
   * `work` is called a second time when the first was rolled back for another's failure.
   */
  run(work: () => void): Promise<void>;
}

interface Waiting {
  readonly work: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** @param worksMax of one transaction; what is over waits for the next turn of the event loop */
export function createGroupedTransactions(connection: Connection, worksMax = Infinity): GroupedTransactions {
  let waiting: Waiting[] = [];

  const commitAll = (): void => {
    const group = waiting.slice(0, worksMax);
    waiting = waiting.slice(worksMax);
    if (waiting.length > 0) setImmediate(commitAll);
    let done: readonly Waiting[];
    try {
      done = isCommitted(connection, group) ? group : committedApart(connection, group);
    } catch (error) {
      // Nothing of the group is stored, whether it ran or not; those that failed by themselves know already.
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { resolve } of done) resolve();
  };

  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(commitAll);
        waiting.push({ work, resolve, reject });
      }),
  };
}

/** False when a work or the COMMIT failed: nothing of the group is left. */
function isCommitted(connection: Connection, group: readonly Waiting[]): boolean {
  try {
    connection.transaction(() => {
      for (const { work } of group) work();
    });
    return true;
  } catch {
    // Whose failure it is, and that it still is one, is found out with savepoints.
    return false;
  }
}

/** Those that succeeded; the others' callers know already. @throws what ended the whole transaction */
function committedApart(connection: Connection, group: readonly Waiting[]): Waiting[] {
  return connection.transaction(() => group.filter((one) => succeeds(connection, one)));
}

/** False when the work failed: nothing of it is left, and its caller knows. */
function succeeds(connection: Connection, { work, reject }: Waiting): boolean {
  connection.statement('SAVEPOINT one').run();
  try {
    work();
    connection.statement('RELEASE one').run();
    return true;
  } catch (error) {
    // A failure that ends the whole transaction (a full disk) has taken the savepoint along.
    if (!connection.db.isTransaction) throw error;
    connection.statement('ROLLBACK TO one').run();
    connection.statement('RELEASE one').run();
    reject(error);
    return false;
  }
}
