// Transactions that come in one turn of the event loop share one COMMIT: the pages that several partition numbers touch are written once.
//
//   run, run, run -> setImmediate: BEGIN, (SAVEPOINT, work, RELEASE) each, COMMIT -> answers

import type { Connection } from '../connection.ts';

export interface GroupedTransactions {
  /** All or nothing, and committed when it resolves. Rejects with what `work` throws; the others of its group are not harmed. */
  run(work: () => void): Promise<void>;
}

interface Waiting {
  readonly work: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createGroupedTransactions(connection: Connection): GroupedTransactions {
  let waiting: Waiting[] = [];

  const commitAll = (): void => {
    const group = waiting;
    waiting = [];
    const done: Waiting[] = [];
    try {
      connection.transaction(() => {
        for (const one of group) if (succeeds(connection, one)) done.push(one);
      });
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
