// Transactions that share a COMMIT: one that fails harms no other, and when all of it fails every caller is told.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Connection } from '../../../src/adapters/sqlite/connection.ts';
import { openConnection } from '../../../src/adapters/sqlite/connection.ts';
import { createGroupedTransactions } from '../../../src/adapters/sqlite/grouped-transactions.ts';

let folder: string;
let connection: Connection;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-grouped-'));
  connection = openConnection(join(folder, 'views.db'), { synchronous: 'NORMAL' });
  connection.db.exec('CREATE TABLE numbers (n INTEGER)');
});
afterEach(() => {
  connection.close();
  rmSync(folder, { recursive: true, force: true });
});

const insert = (n: number) => () => void connection.statement('INSERT INTO numbers VALUES (?)').run(n);
const stored = () => connection.rows('SELECT n FROM numbers ORDER BY n', []).flat();

describe('grouped transactions', () => {
  it('keep what the others wrote when one of them throws, and nothing of that one', async () => {
    const { run } = createGroupedTransactions(connection);
    const failing = () => {
      insert(2)();
      throw new Error('stale');
    };
    const settled = await Promise.allSettled([run(insert(1)), run(failing), run(insert(3))]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(stored()).toEqual([1, 3]);
  });

  it('are so many in a turn of the event loop where that is said, in their order', async () => {
    const { run } = createGroupedTransactions(connection, 2);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const all = Promise.all([1, 2, 3, 4, 5].map((n) => run(insert(n))));
    await turn();
    expect(stored()).toEqual([1, 2]);
    void run(insert(6));
    await turn();
    expect(stored()).toEqual([1, 2, 3, 4]);
    await turn();
    expect(stored()).toEqual([1, 2, 3, 4, 5, 6]);
    await all;
  });

  it('tell every caller, those not yet run too, when a failure ends the whole transaction; later ones work', async () => {
    const { run } = createGroupedTransactions(connection);
    // As SQLite does by itself on a full disk.
    const ending = () => {
      connection.db.exec('ROLLBACK');
      throw new Error('disk full');
    };
    const settled = await Promise.allSettled([run(insert(1)), run(ending), run(insert(3))]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(stored()).toEqual([]);
    await run(insert(4));
    expect(stored()).toEqual([4]);
  });
});
